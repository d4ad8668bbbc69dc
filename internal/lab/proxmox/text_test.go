package proxmox_test

import "strings"

func trimmed(s string) string { return strings.TrimSpace(s) }
