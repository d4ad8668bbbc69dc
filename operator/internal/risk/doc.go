// Package risk judges a preview of the engine: what is created, changed in place, rebooted, replaced or deleted, and what that
// means for etcd's quorum and for data. It is pure: events in, words out.
package risk
