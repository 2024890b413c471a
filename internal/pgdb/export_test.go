package pgdb

// Wait is opened to the tests, which are outside because pgtest imports this package.
var Wait = wait
