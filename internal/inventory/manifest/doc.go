// Package manifest reads the files of an inventory of any kind: it determines the kind, reads a file with its header, and collects the problems in
// all files. A package for each kind of stack knows the keys, their defaults and the rules between them.
package manifest
