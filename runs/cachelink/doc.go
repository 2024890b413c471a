// Package cachelink connects actions with the cache of outputs. Its loops look up the keys of held actions, let one
// action at a time compute a key where the task requires it, and keep the reservations of live actions. Publish
// stores outputs in the cache before a success is recorded. The package makes no decisions about actions: runs/store
// settles the holds. It calls the cache through the generated clients.
package cachelink
