declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(i64)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_destroy(ptr)
declare i32 @sched_yield()
declare i32 @clock_gettime(i32, ptr)
declare i64 @pthread_self()
${processor}
${declared}

; worker, closure, the next older loop that is offered, how many more threads may take it, how many it may have,
; how many are inside beside the caller, whether the caller sleeps, what it sleeps on, and what those inside took in ns
%loop = type { ptr, ptr, ptr, i32, i32, i32, i32, [16 x i64], i64 }

@mutex = internal global [16 x i64] zeroinitializer, align 64
@work = internal global [16 x i64] zeroinitializer, align 64 ; what threads sleep on
@newest = internal global ptr null, align 64                 ; the loop that was offered last
@looking = internal global i32 0, align 64                   ; how many threads look for work,
@sleeping = internal global i32 0                            ; how many sleep,
@threads = internal global i32 0                             ; how many there are,
@armed = internal global i32 0                               ; whether a loop has come since the last `wake`,
@callers = internal global i32 -1                            ; which processor had who called last,
@offered = internal global i64 0                             ; and how many loops were offered
@took = internal global [${slots} x i64] zeroinitializer, align 64 ; what work of all threads there was in a loop, by its
                                                             ; worker, and last in a pipeline, by its address,
@pipeline = internal global i64 0                            ; which pipeline came last,
@ended = internal global i64 0                               ; when a loop ended last,
@row = internal global i32 0                                 ; whether the last loop followed another,
@missed = internal global i64 0                              ; and how often in a row nobody came who was woken for one

@began = internal global i64 0, align 64                     ; when loops began that follow each other,
@polled = internal global i64 0                              ; when Python was asked,
@main = internal global i64 0                                ; which thread handles signals,
@found = internal global [3 x ptr] zeroinitializer           ; and what a handler raised: type, value, traceback

; 1 where what runs in the main thread is to end, as a handler of a signal raised; 2 where the worker that keeps at
; `since` when it first asked has taken long; else 0.
define i32 @poll(ptr %since.at) {
  %time = alloca [2 x i64]
  %told = call i32 @clock_gettime(i32 ${coarse}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  %first = load i64, ptr %since.at
  %is.first = icmp eq i64 %first, 0
  %own.since = select i1 %is.first, i64 %now, i64 %first
  store i64 %own.since, ptr %since.at
  %own.time = sub i64 %now, %own.since
  %long = icmp sgt i64 %own.time, ${poll_ns}
  %answer = select i1 %long, i32 2, i32 0
  %began = load atomic i64, ptr @began monotonic, align 8
  %since = sub i64 %now, %began
  %late = icmp sgt i64 %since, ${poll_ns}
  br i1 %late, label %who, label %soon

soon:
  ret i32 %answer

who:
  %own = call i64 @pthread_self()
  %main = load atomic i64, ptr @main monotonic, align 8
  %is.main = icmp eq i64 %own, %main
  %before = load atomic i64, ptr @polled monotonic, align 8
  %since.asked = sub i64 %now, %before
  %again = icmp sgt i64 %since.asked, ${poll_ns}
  %asks = and i1 %is.main, %again
  br i1 %asks, label %ask, label %on

ask:
  store atomic i64 %now, ptr @polled monotonic, align 8
  %ensure = inttoptr i64 ${PyGILState_Ensure} to ptr
  %release = inttoptr i64 ${PyGILState_Release} to ptr
  %check = inttoptr i64 ${PyErr_CheckSignals} to ptr
  %fetch = inttoptr i64 ${PyErr_Fetch} to ptr
  %state = call i32 %ensure()
  %raised = call i32 %check()
  %none = icmp eq i32 %raised, 0
  br i1 %none, label %go, label %keep

keep:
  %value = getelementptr ptr, ptr @found, i64 1
  %traceback = getelementptr ptr, ptr @found, i64 2
  call void %fetch(ptr @found, ptr %value, ptr %traceback)
  call void %release(i32 %state)
  ret i32 1

go:
  call void %release(i32 %state)
  ret i32 %answer

on:
  ret i32 %answer
}

; Raise it, with Python's lock.
define void @raise_found() {
  %restore = inttoptr i64 ${PyErr_Restore} to ptr
  %value.at = getelementptr ptr, ptr @found, i64 1
  %traceback.at = getelementptr ptr, ptr @found, i64 2
  %type = load ptr, ptr @found
  %value = load ptr, ptr %value.at
  %traceback = load ptr, ptr %traceback.at
  store ptr null, ptr @found
  store ptr null, ptr %value.at
  store ptr null, ptr %traceback.at
  call void %restore(ptr %type, ptr %value, ptr %traceback)
  ret void
}

define void @set_main(i64 %thread) {
  store atomic i64 %thread, ptr @main monotonic, align 8
  ret void
}

define internal i64 @now() {
  %time = alloca [2 x i64]
  %told = call i32 @clock_gettime(i32 ${clock}, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %now = add i64 %whole, %rest
  ret i64 %now
}

; Where it is kept how much work there is in what begins at an address.
define internal ptr @slot(i64 %address) {
  %coarse = lshr i64 %address, 4
  %mixed = mul i64 %coarse, -7046029254386353131
  %place = lshr i64 %mixed, ${unplaced}
  %slot = getelementptr i64, ptr @took, i64 %place
  ret ptr %slot
}

; Whether a loop that begins now follows another.
define internal i1 @follows(i64 %now) {
  %ended = load atomic i64, ptr @ended monotonic, align 8
  %since = sub i64 %now, %ended
  %soon = icmp sle i64 %since, ${near}
  ret i1 %soon
}

; Whether so little work is known of that to wake a thread for it costs more than it gains: none does where loops
; follow each other, as the thread looks for the next. So is the first of such a row, if the last loop was in one. Now
; and then there, where nobody comes who is woken.
define internal i1 @idle(i64 %work, i64 %now) {
  %soon = call i1 @follows(i64 %now)
  %row = load atomic i32, ptr @row monotonic, align 4
  %before.row = icmp ne i32 %row, 0
  %follows = or i1 %soon, %before.row
  %apart = xor i1 %follows, true
  %missed = load atomic i64, ptr @missed monotonic, align 8
  %many = icmp ugt i64 %missed, 5
  %times = select i1 %many, i64 5, i64 %missed
  %every = shl i64 1, %times
  %mask = sub i64 %every, 1
  %loops = load atomic i64, ptr @offered monotonic, align 8
  %turn = and i64 %loops, %mask
  %not = icmp ne i64 %turn, 0
  %either = or i1 %apart, %not
  %before = sub i64 %work, 1
  %little = icmp ult i64 %before, ${little}                   ; 0 where it is not known
  %idle = and i1 %little, %either
  ret i1 %idle
}

; As `wake`, for a pipeline that begins at an address, unless it is known to have little work.
define void @wake_for(i64 %address) {
  store atomic i64 %address, ptr @pipeline monotonic, align 8
  %slot = call ptr @slot(i64 %address)
  %work = load atomic i64, ptr %slot monotonic, align 8
  %now = call i64 @now()
  %idle = call i1 @idle(i64 %work, i64 %now)
  br i1 %idle, label %done, label %wake

wake:
  call void @wake()
  br label %done

done:
  ret void
}

define void @begin() {
  %1 = call i32 @pthread_mutex_init(ptr @mutex, ptr null)
  %2 = call i32 @pthread_cond_init(ptr @work, ptr null)
  store ptr null, ptr @newest
  store i32 0, ptr @looking
  store i32 0, ptr @sleeping
  store i32 0, ptr @threads
  store i32 0, ptr @armed
  ret void
}

define i64 @loops() {
  %loops = load atomic i64, ptr @offered monotonic, align 8
  ret i64 %loops
}

; Whether this thread has the processor of who called last.
define internal i1 @displaces() {
  %own = call i32 @sched_getcpu()
  %callers = load i32, ptr @callers
  %known = icmp sge i32 %own, 0
  %same = icmp eq i32 %own, %callers
  %both = and i1 %known, %same
  ret i1 %both
}

; Wake a thread for a loop that will come soon, if one came after it was last woken for that, and none is looking.
define void @wake() {
  %processor = call i32 @sched_getcpu()
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  store i32 %processor, ptr @callers
  %armed = load i32, ptr @armed
  %looking = load i32, ptr @looking
  %sleeping = load i32, ptr @sleeping
  %nobody = icmp eq i32 %looking, 0
  %some = icmp ne i32 %sleeping, 0
  %came = icmp ne i32 %armed, 0
  %asleep = and i1 %nobody, %some
  %needed = and i1 %asleep, %came
  %disarmed = select i1 %needed, i32 0, i32 %armed
  store i32 %disarmed, ptr @armed
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br i1 %needed, label %signal, label %done

signal:
  %woken = call i32 @pthread_cond_signal(ptr @work)
  br label %done

done:
  ret void
}

; Wake or start up to two threads, but for what one that is looking will take. There are to be `most` at most.
define internal void @recruit(i32 %wanted, i32 %most) {
entry:
  %id = alloca i64
  br label %once

once:
  %left = phi i32 [ 2, %entry ], [ %fewer, %again ]
  %more = phi i32 [ %wanted, %entry ], [ %other, %again ]
  %fewer = sub i32 %left, 1
  %other = sub i32 %more, 1
  %some = icmp sgt i32 %more, 0
  %allowed = icmp ne i32 %left, 0
  %go = and i1 %some, %allowed
  br i1 %go, label %count, label %done

count:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  %looking = load i32, ptr @looking
  %found = icmp ne i32 %looking, 0
  br i1 %found, label %leave, label %asleep

asleep:
  %sleeping = load i32, ptr @sleeping
  %any = icmp ne i32 %sleeping, 0
  br i1 %any, label %wake, label %room

wake:
  %unlocked.wake = call i32 @pthread_mutex_unlock(ptr @mutex)
  %woken = call i32 @pthread_cond_signal(ptr @work)
  br label %again

room:
  %threads = load i32, ptr @threads
  %less = icmp slt i32 %threads, %most
  br i1 %less, label %create, label %leave

create:
  %created = add i32 %threads, 1
  store i32 %created, ptr @threads
  %unlocked.create = call i32 @pthread_mutex_unlock(ptr @mutex)
  %failed = call i32 @pthread_create(ptr %id, ptr null, ptr @serve, ptr null)
  %well = icmp eq i32 %failed, 0
  br i1 %well, label %detach, label %undo

detach:
  %thread = load i64, ptr %id
  %detached = call i32 @pthread_detach(i64 %thread)
  br label %again

undo:                                                        ; the loop is run by fewer
  %locked.undo = call i32 @pthread_mutex_lock(ptr @mutex)
  %said = load i32, ptr @threads
  %there = sub i32 %said, 1
  store i32 %there, ptr @threads
  br label %leave

again:
  br label %once

leave:
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %done

done:
  ret void
}

define internal ptr @serve(ptr %none) {
entry:
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %next

next:                                                        ; here the mutex is held
  %loop = load atomic ptr, ptr @newest monotonic, align 8
  %nothing = icmp eq ptr %loop, null
  br i1 %nothing, label %idle, label %take

take:
  %wanted.at = getelementptr %loop, ptr %loop, i32 0, i32 3
  %wanted.before = load i32, ptr %wanted.at
  %wanted = sub i32 %wanted.before, 1
  store i32 %wanted, ptr %wanted.at
  %running.at = getelementptr %loop, ptr %loop, i32 0, i32 5
  %others = load i32, ptr %running.at
  %all = add i32 %others, 1
  store i32 %all, ptr %running.at
  %full = icmp eq i32 %wanted, 0
  br i1 %full, label %withdraw, label %begin

withdraw:
  %older.at = getelementptr %loop, ptr %loop, i32 0, i32 2
  %older = load atomic ptr, ptr %older.at monotonic, align 8
  store atomic ptr %older, ptr @newest monotonic, align 8
  br label %begin

begin:
  %worker = load ptr, ptr %loop
  %closure.at = getelementptr %loop, ptr %loop, i32 0, i32 1
  %closure = load ptr, ptr %closure.at
  %most.at = getelementptr %loop, ptr %loop, i32 0, i32 4
  %most = load i32, ptr %most.at
  %rest = load atomic ptr, ptr @newest monotonic, align 8
  %offered.rest = icmp ne ptr %rest, null
  %one = zext i1 %offered.rest to i32
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %own = icmp ne i32 %wanted, 0
  %number = select i1 %own, i32 %wanted, i32 %one              ; for this loop, or for an older one
  call void @recruit(i32 %number, i32 %most)
  %began = call i64 @now()
  call void %worker(ptr %closure)
  %stopped = call i64 @now()
  %own.work = sub i64 %stopped, %began
  %locked.again = call i32 @pthread_mutex_lock(ptr @mutex)
  %spent.at = getelementptr %loop, ptr %loop, i32 0, i32 8
  %spent.before = load i64, ptr %spent.at
  %spent = add i64 %spent.before, %own.work
  store i64 %spent, ptr %spent.at
  %asleep.at = getelementptr %loop, ptr %loop, i32 0, i32 6
  %asleep = load i32, ptr %asleep.at
  %running = load i32, ptr %running.at
  %left = sub i32 %running, 1
  store atomic i32 %left, ptr %running.at release, align 4
  %last = icmp eq i32 %left, 0
  %sleeps = icmp ne i32 %asleep, 0
  %tell = and i1 %last, %sleeps
  br i1 %tell, label %done, label %next

done:                                                        ; the caller needs the mutex before it can go
  %done.at = getelementptr %loop, ptr %loop, i32 0, i32 7
  %told = call i32 @pthread_cond_signal(ptr %done.at)
  br label %next

idle:
  %displaces.idle = call i1 @displaces()
  br i1 %displaces.idle, label %sleep, label %stay

stay:
  %looking.before.more = load i32, ptr @looking
  %looking.more = add i32 %looking.before.more, 1
  store i32 %looking.more, ptr @looking
  %unlocked.idle = call i32 @pthread_mutex_unlock(ptr @mutex)
  br label %look

look:
  %looks = phi i32 [ ${looks}, %stay ], [ %looks.left, %wait ]
  %seen = load atomic ptr, ptr @newest monotonic, align 8
  %offered = icmp ne ptr %seen, null
  %looks.left = sub i32 %looks, 1
  %enough = icmp eq i32 %looks.left, 0
  %stop = or i1 %offered, %enough
  br i1 %stop, label %looked, label %wait

wait:
  ${pause}
  br label %look

looked:
  %locked.looked = call i32 @pthread_mutex_lock(ptr @mutex)
  %looking.before.less = load i32, ptr @looking
  %looking.less = add i32 %looking.before.less, -1
  store i32 %looking.less, ptr @looking
  %now = load atomic ptr, ptr @newest monotonic, align 8
  %still = icmp eq ptr %now, null
  br i1 %still, label %sleep, label %next

sleep:
  %sleeping.before.more = load i32, ptr @sleeping
  %sleeping.more = add i32 %sleeping.before.more, 1
  store i32 %sleeping.more, ptr @sleeping
  %slept = call i32 @pthread_cond_wait(ptr @work, ptr @mutex)
  %sleeping.before.less = load i32, ptr @sleeping
  %sleeping.less = add i32 %sleeping.before.less, -1
  store i32 %sleeping.less, ptr @sleeping
  %displaces = call i1 @displaces()
  br i1 %displaces, label %yield, label %next

yield:
  %unlocked.yield = call i32 @pthread_mutex_unlock(ptr @mutex)
  %yielded = call i32 @sched_yield()
  %locked.yield = call i32 @pthread_mutex_lock(ptr @mutex)
  br label %next
}

define void @launch(ptr %worker, ptr %closure, i32 %threads, i32 %flags) {
entry:
  %loop = alloca %loop, align 64
  %wanted = sub i32 %threads, 1
  %closure.at = getelementptr %loop, ptr %loop, i32 0, i32 1
  %next.at = getelementptr %loop, ptr %loop, i32 0, i32 2
  %wanted.at = getelementptr %loop, ptr %loop, i32 0, i32 3
  %most.at = getelementptr %loop, ptr %loop, i32 0, i32 4
  %running.at = getelementptr %loop, ptr %loop, i32 0, i32 5
  %asleep.at = getelementptr %loop, ptr %loop, i32 0, i32 6
  %done.at = getelementptr %loop, ptr %loop, i32 0, i32 7
  store ptr %worker, ptr %loop
  store ptr %closure, ptr %closure.at
  store i32 %wanted, ptr %wanted.at
  store i32 %wanted, ptr %most.at
  store i32 0, ptr %running.at
  store i32 0, ptr %asleep.at
  %spent.at = getelementptr %loop, ptr %loop, i32 0, i32 8
  store i64 0, ptr %spent.at
  %alone = icmp slt i32 %wanted, 1
  br i1 %alone, label %run, label %offer

run:
  call void %worker(ptr %closure)
  ret void

offer:
  %processor = call i32 @sched_getcpu()
  %locked = call i32 @pthread_mutex_lock(ptr @mutex)
  store i32 %processor, ptr @callers
  %before = load atomic ptr, ptr @newest monotonic, align 8
  store atomic ptr %before, ptr %next.at monotonic, align 8
  store atomic ptr %loop, ptr @newest monotonic, align 8
  store i32 1, ptr @armed
  %once = load atomic i64, ptr @offered monotonic, align 8
  %again = add i64 %once, 1
  store atomic i64 %again, ptr @offered monotonic, align 8
  %unlocked = call i32 @pthread_mutex_unlock(ptr @mutex)
  %address = ptrtoint ptr %worker to i64
  %slot = call ptr @slot(i64 %address)
  %work = load atomic i64, ptr %slot monotonic, align 8
  %asked = call i64 @now()
  %idle = call i1 @idle(i64 %work, i64 %asked)
  %ended.before = load atomic i64, ptr @ended monotonic, align 8
  %pause.before = sub i64 %asked, %ended.before
  %alone.for.long = icmp sgt i64 %pause.before, ${poll_ns}
  %began.before = load atomic i64, ptr @began monotonic, align 8
  %began.now = select i1 %alone.for.long, i64 %asked, i64 %began.before
  store atomic i64 %began.now, ptr @began monotonic, align 8
  %timed = icmp ne i32 %flags, 0
  %nobody = and i1 %idle, %timed
  %soon = call i1 @follows(i64 %asked)
  %row = zext i1 %soon to i32
  store atomic i32 %row, ptr @row monotonic, align 4
  %number = select i1 %nobody, i32 0, i32 %wanted
  call void @recruit(i32 %number, i32 %wanted)
  %began = call i64 @now()
  call void %worker(ptr %closure)
  %stopped = call i64 @now()
  %locked.again = call i32 @pthread_mutex_lock(ptr @mutex)
  %unwanted = load i32, ptr %wanted.at
  %full = icmp eq i32 %unwanted, 0
  br i1 %full, label %withdrawn, label %search

search:                                                      ; no longer there in the child of a fork
  %link = phi ptr [ @newest, %offer ], [ %link.next, %further ]
  %one = load atomic ptr, ptr %link monotonic, align 8
  %end = icmp eq ptr %one, null
  br i1 %end, label %withdrawn, label %compare

compare:
  %this = icmp eq ptr %one, %loop
  br i1 %this, label %withdraw, label %further

further:
  %link.next = getelementptr %loop, ptr %one, i32 0, i32 2
  br label %search

withdraw:                                                    ; what was older when it was offered may have gone
  %older = load atomic ptr, ptr %next.at monotonic, align 8
  store atomic ptr %older, ptr %link monotonic, align 8
  br label %withdrawn

withdrawn:
  %running = load i32, ptr %running.at
  %unlocked.again = call i32 @pthread_mutex_unlock(ptr @mutex)
  %none = icmp eq i32 %running, 0
  br i1 %none, label %return, label %look

look:
  %looks = phi i32 [ ${looks}, %withdrawn ], [ %looks.left, %wait ]
  %inside = load atomic i32, ptr %running.at acquire, align 4
  %ended = icmp eq i32 %inside, 0
  br i1 %ended, label %return, label %on

on:
  %looks.left = sub i32 %looks, 1
  %enough = icmp eq i32 %looks.left, 0
  br i1 %enough, label %sleep, label %wait

wait:
  ${pause}
  br label %look

sleep:
  %initialized = call i32 @pthread_cond_init(ptr %done.at, ptr null)
  %locked.sleep = call i32 @pthread_mutex_lock(ptr @mutex)
  store i32 1, ptr %asleep.at
  br label %ask

ask:
  %left = load i32, ptr %running.at
  %over = icmp eq i32 %left, 0
  br i1 %over, label %awake, label %rest

rest:
  %rested = call i32 @pthread_cond_wait(ptr %done.at, ptr @mutex)
  br label %ask

awake:
  %unlocked.awake = call i32 @pthread_mutex_unlock(ptr @mutex)
  %destroyed = call i32 @pthread_cond_destroy(ptr %done.at)
  br label %return

return:
  br i1 %timed, label %remember, label %gone

remember:
  %own = sub i64 %stopped, %began
  %others = load i64, ptr %spent.at
  %all = add i64 %own, %others
  store atomic i64 %all, ptr %slot monotonic, align 8
  %pipeline = load atomic i64, ptr @pipeline monotonic, align 8
  %slot.pipeline = call ptr @slot(i64 %pipeline)
  store atomic i64 %all, ptr %slot.pipeline monotonic, align 8
  store atomic i64 %stopped, ptr @ended monotonic, align 8
  %came = icmp ne i64 %others, 0
  %missed.before = load atomic i64, ptr @missed monotonic, align 8
  %again.missed = add i64 %missed.before, 1
  %woke = xor i1 %nobody, true
  %counted = select i1 %woke, i64 %again.missed, i64 %missed.before
  %missed = select i1 %came, i64 0, i64 %counted
  store atomic i64 %missed, ptr @missed monotonic, align 8
  ret void

gone:
  ret void
}
