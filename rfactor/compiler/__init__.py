"""From what a user writes to code that runs. Folders are stages; the files beside them join the stages.

`language/`      what a user writes, frozen into an algorithm and a schedule (`schedule/`, `numbered`)

A reduction is factored, algorithm to algorithm:
    `rfactor` (`split_domain`, `extraction`)    the pass: an intermediate, and a merge of its slices
    `slices`, `state`                           which slices see an element, and what an intermediate holds
    `serial_choice`, `restore_order`            operators that fail to commute by ties alone
    `cases`                                     one case of a specialized update as an update of its own
    `parallel_scan`, `commuting`                recurrences as scans, and loops of updates in another order
    `auto/`                                     a schedule that is found

The whole is compiled:
    `asked`, `strides`, `overwriting` (`written_before`), `input_bounds`    arrays: given, made, written over, read
    `lower/`                                    the loop nest, one pass a file (`undefined`: values that nobody defined)
    `verify/`                                   its bounds as claims that a solver decides
    `codegen/`, `runtime/`                      LLVM IR and C; code and threads in this process
    `pipeline` (`structure`, `deep`, `collector`)   all of that for one call, and what is kept of it
    `outputs`, `multitarget`, `debug_files`     files

`derivative/`    adjoints of a pipeline, as a pipeline
"""
