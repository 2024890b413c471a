// Package caching connects actions with the cache of outputs. Its loop looks up the keys of actions that are held for
// it, lets one action at a time compute a key where the task asks for that, and keeps the reservations of those alive;
// its Publish puts outputs into the cache before a success is recorded. It decides nothing about actions by itself: it
// asks runs/store to settle holds, and speaks with the cache through the generated clients.
package caching
