package pgdb

// Wait is exported for the tests, which are outside because pgtest imports this package.
var Wait = wait
