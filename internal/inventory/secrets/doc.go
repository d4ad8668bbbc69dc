// Package secrets reads secrets.sops.yaml, which lies beside an inventory and is encrypted with SOPS for an age key.
//
// It is a package of its own because the sops library brings the clients of every key service with it, several hundred
// packages (docs/decisions/0004-sops.md). The tool reads the file; the program asks the tool for it.
package secrets
