// Package problems groups failed tasks by their cause over runs. The transaction that ends an action lists it; one replica, the
// holder of a lease, counts what is listed, by the task, the code of the error and the message without what varies. That says nothing
// of where an exception like KeyError comes from, so the log of one failure of each kind is read for its traceback, later: kinds
// of the same exception and the same frame of the task's own code become one problem.
package problems
