// Package attemptobject creates the main object of an attempt, such as its pod or its Job, exactly once, finds it
// again, and deletes it. Three facts keep an attempt from running twice: the name of the object admits one per attempt,
// an object that was seen and no longer exists is a lost attempt, and a stale cache is neither. Plugins
// define how their kind of object is built and read. The package knows the API server and the attempt, but no kind of
// object.
package attemptobject
