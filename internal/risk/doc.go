// Package risk judges what a preview of the engine would do: what is made, changed in place, rebooted, replaced or deleted,
// and what that means for etcd's quorum and for data. It is pure: events in, words out.
package risk
