// Package recoverykit packs what a cluster is rebuilt from into one sealed file, and opens it: a tar archive that age encrypts, so that
// `age --decrypt` and `tar` open it where this tool is not at hand. In clear it is never written to a disk.
package recoverykit
