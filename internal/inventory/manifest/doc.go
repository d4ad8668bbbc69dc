// Package manifest reads the files of an inventory, of whatever kind: it tells kinds apart, reads a file with its header, and collects the
// problems in all of them. A package for each kind of stack knows the keys, their defaults and the rules between them.
package manifest
