@name = internal constant [9 x i8] c"repeated\00"
@method = internal global { ptr, ptr, i32, ptr } { ptr @name, ptr @repeated, i32 ${METH_O}, ptr null }

; A function of Python's of which `self` is a tuple: see `Look.calling`.
define ptr @made(ptr %self) {
  %function = call ptr ${PyCFunction_NewEx}(ptr @method, ptr %self, ptr null)
  ret ptr %function
}

define internal ptr @repeated(ptr %self, ptr %given) {
entry:
  %words.in = call ptr ${PyTuple_GetItem}(ptr %self, i64 0)
  %words = call ptr ${PyBytes_AsString}(ptr %words.in)
  %marks = call ptr ${PyTuple_GetItem}(ptr %self, i64 1)
  %own = call ptr ${PyTuple_GetItem}(ptr %self, i64 2)
  %mark = call ptr ${PyList_GetItem}(ptr %own, i64 0)
  %latest = call ptr ${PyList_GetItem}(ptr %marks, i64 0)
  %unchanged = icmp eq ptr %latest, %mark
  br i1 %unchanged, label %waking, label %no

no:
  %no.answer = call ptr ${PyBool_FromLong}(i64 0)
  ret ptr %no.answer

waking:
  %wake.at = getelementptr i64, ptr %words, i64 ${WAKE}
  %wake = load ptr, ptr %wake.at
  %asleep = icmp eq ptr %wake, null
  %function.at = getelementptr i64, ptr %words, i64 ${FUNCTION}
  %function = load ptr, ptr %function.at
  br i1 %asleep, label %asked, label %wakes

wakes:
  call void %wake(ptr %function)
  br label %asked

; What was given is the tuple itself, or the tuple or list that is its one element.
asked:
  %number = call i64 ${PyTuple_Size}(ptr %given)
  %single = icmp eq i64 %number, 1
  br i1 %single, label %one, label %several

one:
  %only = call ptr ${PyTuple_GetItem}(ptr %given, i64 0)
  %only.type.at = getelementptr i8, ptr %only, i64 ${type}
  %only.type = load ptr, ptr %only.type.at
  %is.tuple = icmp eq ptr %only.type, ${TUPLE}
  %is.list = icmp eq ptr %only.type, ${LIST}
  %listed = or i1 %is.tuple, %is.list
  %within = select i1 %listed, ptr %only, ptr %given
  br label %several

several:
  %arrays = phi ptr [ %given, %asked ], [ %within, %one ]
  %size = call i64 ${PySequence_Size}(ptr %arrays)
  %outputs.at = getelementptr i64, ptr %words, i64 ${OUTPUTS}
  %outputs = load i64, ptr %outputs.at
  %fits = icmp eq i64 %size, %outputs
  %some = icmp ne i64 %size, 0
  %right = and i1 %fits, %some
  br i1 %right, label %room, label %no

room:
  %inputs.at = getelementptr i64, ptr %words, i64 ${INPUTS}
  %inputs = load i64, ptr %inputs.at
  %count = add i64 %inputs, %outputs
  %zeroth = call ptr ${PySequence_GetItem}(ptr %arrays, i64 0)
  %zeroth.type.at = getelementptr i8, ptr %zeroth, i64 ${type}
  %kind = load ptr, ptr %zeroth.type.at
  call void ${Py_DecRef}(ptr %zeroth)
  %held = alloca ptr, i64 %count
  %looks = getelementptr i64, ptr %words, i64 ${LOOKS}
  %images = call ptr ${PyTuple_GetItem}(ptr %self, i64 3)
  %mins = call ptr ${PyTuple_GetItem}(ptr %self, i64 4)
  br label %images.next

images.next:
  %i = phi i64 [ 0, %room ], [ %i.after, %image.same ]
  %i.look = phi ptr [ %looks, %room ], [ %image.next, %image.same ]
  %i.more = icmp ult i64 %i, %inputs
  br i1 %i.more, label %image, label %outputs.next

image:
  %image.given = call ptr ${PyTuple_GetItem}(ptr %images, i64 %i)
  %image.mins = call ptr ${PyTuple_GetItem}(ptr %mins, i64 %i)
  %image.array = call ptr @image_array(ptr %image.given, ptr %image.mins)
  %image.none = icmp eq ptr %image.array, null
  br i1 %image.none, label %image.failed, label %image.held

image.failed:
  br label %differs

image.held:
  %image.hold = getelementptr ptr, ptr %held, i64 %i
  store ptr %image.array, ptr %image.hold
  %i.after = add i64 %i, 1
  %image.next = call ptr @same(ptr %i.look, ptr %image.array)
  %image.other = icmp eq ptr %image.next, null
  br i1 %image.other, label %differs, label %image.same

image.same:
  br label %images.next

outputs.next:
  %o = phi i64 [ 0, %images.next ], [ %o.after, %output.same ]
  %o.look = phi ptr [ %i.look, %images.next ], [ %output.next, %output.same ]
  %o.held = add i64 %inputs, %o
  %o.more = icmp ult i64 %o, %outputs
  br i1 %o.more, label %output, label %start

output:
  %output.given = call ptr ${PySequence_GetItem}(ptr %arrays, i64 %o)
  %output.array = call ptr @output_array(ptr %output.given, ptr %kind)
  %output.none = icmp eq ptr %output.array, null
  br i1 %output.none, label %differs, label %output.held

output.held:
  %output.hold = getelementptr ptr, ptr %held, i64 %o.held
  store ptr %output.array, ptr %output.hold
  %o.after = add i64 %o, 1
  %o.held.after = add i64 %o.held, 1
  %output.next = call ptr @same(ptr %o.look, ptr %output.array)
  %output.other = icmp eq ptr %output.next, null
  br i1 %output.other, label %differs, label %output.same

output.same:
  br label %outputs.next

differs:
  %taken = phi i64 [ %i, %image.failed ], [ %i.after, %image.held ],
               [ %o.held, %output ], [ %o.held.after, %output.held ]
  %error = call ptr ${PyErr_Occurred}()
  %raised = icmp ne ptr %error, null
  br i1 %raised, label %drop, label %answers

answers:
  %differ.answer = call ptr ${PyBool_FromLong}(i64 0)
  br label %drop

; The arrays are held until the code is done with them, while other threads of Python's run.
start:
  %none = icmp eq ptr %function, null
  br i1 %none, label %otherwise, label %call

call:
  %slots.at = getelementptr i64, ptr %words, i64 ${SLOTS}
  %slots = load ptr, ptr %slots.at
  %runtime.at = getelementptr i64, ptr %words, i64 ${RUNTIME}
  %runtime = load ptr, ptr %runtime.at
  %report.at = getelementptr i64, ptr %words, i64 ${REPORT}
  %report = load ptr, ptr %report.at
  %thread = call ptr ${PyEval_SaveThread}()
  %status.is = call i32 %function(ptr %slots, ptr %runtime, ptr %report)
  call void ${PyEval_RestoreThread}(ptr %thread)
  %done = icmp eq i32 %status.is, 0
  br i1 %done, label %ran, label %otherwise

ran:
  %yes = call ptr ${PyBool_FromLong}(i64 1)
  br label %drop

otherwise:
  %status = phi i32 [ 0, %start ], [ %status.is, %call ]
  %wide = sext i32 %status to i64
  %said = call ptr ${PyLong_FromLongLong}(i64 %wide)
  %tell = call ptr ${PyTuple_GetItem}(ptr %self, i64 5)
  %told = call ptr ${PyObject_CallOneArg}(ptr %tell, ptr %said)
  call void ${Py_DecRef}(ptr %said)
  br label %drop

drop:
  %left = phi i64 [ %taken, %differs ], [ %taken, %answers ], [ %count, %ran ], [ %count, %otherwise ]
  %answer = phi ptr [ null, %differs ], [ %differ.answer, %answers ], [ %yes, %ran ], [ %told, %otherwise ]
  br label %drops

drops:
  %k = phi i64 [ 0, %drop ], [ %k.after, %dropped ]
  %k.more = icmp ult i64 %k, %left
  br i1 %k.more, label %dropped, label %end

dropped:
  %drop.at = getelementptr ptr, ptr %held, i64 %k
  %gone = load ptr, ptr %drop.at
  call void ${Py_DecRef}(ptr %gone)
  %k.after = add i64 %k, 1
  br label %drops

end:
  ret ptr %answer
}

; Whether a type is `Buffer`, or a class of the user's that is made of it.
define internal i1 @is_buffer(ptr %type) {
entry:
  %itself = icmp eq ptr %type, ${BUFFER}
  br i1 %itself, label %answer, label %derived

derived:
  %is = call i32 ${PyType_IsSubtype}(ptr %type, ptr ${BUFFER})
  %made = icmp ne i32 %is, 0
  br label %answer

answer:
  %buffer = phi i1 [ true, %entry ], [ %made, %derived ]
  ret i1 %buffer
}

; The array of a `Buffer` or of the one that was set of an `ImageParam`, where it begins at `mins`; else null.
define internal ptr @image_array(ptr %image, ptr %mins) {
entry:
  %image.type.at = getelementptr i8, ptr %image, i64 ${type}
  %image.type = load ptr, ptr %image.type.at
  %plain = call i1 @is_buffer(ptr %image.type)
  br i1 %plain, label %itself, label %parameter

itself:
  call void ${Py_IncRef}(ptr %image)
  br label %buffer

parameter:
  %set = call ptr ${PyObject_GetAttr}(ptr %image, ptr ${_buffer})
  %failed = icmp eq ptr %set, null
  br i1 %failed, label %nothing, label %is.set

nothing:
  ret ptr null

is.set:
  %set.type.at = getelementptr i8, ptr %set, i64 ${type}
  %set.type = load ptr, ptr %set.type.at
  %set.plain = call i1 @is_buffer(ptr %set.type)
  br i1 %set.plain, label %buffer, label %other

buffer:
  %held = phi ptr [ %image, %itself ], [ %set, %is.set ]
  %now = call ptr ${PyObject_GetAttr}(ptr %held, ptr ${_mins})
  %missing = icmp eq ptr %now, null
  br i1 %missing, label %other, label %compare

compare:
  %equal = call i32 ${PyObject_RichCompareBool}(ptr %now, ptr %mins, i32 ${PY_EQ})
  call void ${Py_DecRef}(ptr %now)
  %there = icmp eq i32 %equal, 1
  br i1 %there, label %take, label %other

take:
  %array = call ptr ${PyObject_GetAttr}(ptr %held, ptr ${_array})
  call void ${Py_DecRef}(ptr %held)
  ret ptr %array

other:
  %left = phi ptr [ %set, %is.set ], [ %held, %buffer ], [ %held, %compare ]
  call void ${Py_DecRef}(ptr %left)
  ret ptr null
}

; What was given where that is of this type; of a `Buffer` its array, where it begins at 0 and asks for nothing. Else
; null. It takes the reference over.
define internal ptr @output_array(ptr %given, ptr %kind) {
entry:
  %missing = icmp eq ptr %given, null
  br i1 %missing, label %nothing, label %typed

nothing:
  ret ptr null

typed:
  %given.type.at = getelementptr i8, ptr %given, i64 ${type}
  %given.type = load ptr, ptr %given.type.at
  %alike = icmp eq ptr %given.type, %kind
  br i1 %alike, label %right, label %other

right:
  %placed = call i1 @is_buffer(ptr %kind)
  br i1 %placed, label %buffer, label %plain

plain:
  ret ptr %given

buffer:
  %asks = call ptr ${PyObject_GetAttr}(ptr %given, ptr ${asks})
  %unknown = icmp eq ptr %asks, null
  br i1 %unknown, label %other, label %known

known:
  call void ${Py_DecRef}(ptr %asks)
  %asks.not = icmp eq ptr %asks, ${FALSE}
  br i1 %asks.not, label %place, label %other

place:
  %mins = call ptr ${PyObject_GetAttr}(ptr %given, ptr ${_mins})
  %nowhere = icmp eq ptr %mins, null
  br i1 %nowhere, label %other, label %somewhere

somewhere:
  %rank = call i64 ${PyTuple_Size}(ptr %mins)
  br label %mins.next

mins.next:
  %d = phi i64 [ 0, %somewhere ], [ %d.after, %min ]
  %d.more = icmp slt i64 %d, %rank
  br i1 %d.more, label %min, label %origin

min:
  %d.after = add i64 %d, 1
  %low = call ptr ${PyTuple_GetItem}(ptr %mins, i64 %d)
  %moved = call i32 ${PyObject_IsTrue}(ptr %low)
  %zero = icmp eq i32 %moved, 0
  br i1 %zero, label %mins.next, label %elsewhere

elsewhere:
  call void ${Py_DecRef}(ptr %mins)
  br label %other

origin:
  call void ${Py_DecRef}(ptr %mins)
  %array = call ptr ${PyObject_GetAttr}(ptr %given, ptr ${_array})
  call void ${Py_DecRef}(ptr %given)
  ret ptr %array

other:
  call void ${Py_DecRef}(ptr %given)
  ret ptr null
}

; Where the next array's look begins, if this array is as it was seen; else null.
define internal ptr @same(ptr %last, ptr %array) {
entry:
${type_is}
  br i1 %type.same, label %fields, label %differs

fields:
${data_is}
${dtype_is}
${flags_is}
${dimensions_is}
  %rank = load i32, ptr %dimensions.at
  %one = and i1 %data.same, %dtype.same
  %two = and i1 %flags.same, %dimensions.same
  %all = and i1 %one, %two
  br i1 %all, label %box, label %differs

box:
  %shape.at = getelementptr i8, ptr %array, i64 ${shape}
  %shape = load ptr, ptr %shape.at
  %strides.at = getelementptr i8, ptr %array, i64 ${strides}
  %strides = load ptr, ptr %strides.at
  %box.look = getelementptr i64, ptr %last, i64 ${COMPARED}
  br label %dimension

dimension:
  %d = phi i32 [ 0, %box ], [ %d.next, %extent ]
  %at = phi ptr [ %box.look, %box ], [ %after, %extent ]
  %left = icmp ult i32 %d, %rank
  br i1 %left, label %extent, label %end

extent:
  %d.next = add i32 %d, 1
  %extent.at = getelementptr i64, ptr %shape, i32 %d
  %extent.is = load i64, ptr %extent.at
  %extent.seen = load i64, ptr %at
  %extent.same = icmp eq i64 %extent.is, %extent.seen
  %stride.at = getelementptr i64, ptr %strides, i32 %d
  %stride.is = load i64, ptr %stride.at
  %stride.look = getelementptr i64, ptr %at, i64 1
  %stride.seen = load i64, ptr %stride.look
  %stride.same = icmp eq i64 %stride.is, %stride.seen
  %after = getelementptr i64, ptr %at, i64 2
  %both = and i1 %extent.same, %stride.same
  br i1 %both, label %dimension, label %differs

end:
  ret ptr %at

differs:
  ret ptr null
}
