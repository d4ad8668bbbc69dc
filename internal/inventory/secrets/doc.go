// Package secrets reads secrets.sops.yaml, which is beside an inventory and encrypted with SOPS for an age key.
//
// It is a separate package because the sops library imports the clients of every key service, several hundred packages
// (docs/decisions/0004-sops.md). The tool reads the file; the program calls the tool.
package secrets
