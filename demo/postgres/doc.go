// Package postgres chooses the Postgres programs of the demo: those of the machine, else those that the program brings. The
// bundle is made by tools/postgres.sh from a published package, which requirements.txt pins; a program that was built
// without it has only the committed .keep file and depends on the machine.
package postgres
