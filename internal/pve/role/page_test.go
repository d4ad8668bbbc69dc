package role_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/golden"
	"github.com/em-infra/em-infra/internal/pve/role"
)

const (
	page  = "../../../docs/security.md"
	begin = "<!-- Made by go test ./internal/pve/role -update; do not edit. -->\n"
	end   = "<!-- End of what is made. -->\n"
)

// paths are where Proxmox VE looks for a privilege, by scope.
var paths = map[role.Scope]string{
	role.Root: "/", role.Host: "/nodes/HOST", role.Storage: "/storage/STORAGE", role.ISOStorage: "/storage/STORAGE of the ISO",
	role.Machine: "/vms/VMID", role.GuestAgent: "/vms/VMID with the guest agent", role.Bridge: "/sdn/zones/localnetwork/BRIDGE",
	role.Snapshots: "/vms/VMID of a system with snapshots",
	role.Backups:   "/pool/POOL of a backup job",
	role.Mapping:   "/mapping/pci", role.Pool: "/pool/POOL",
}

// TestTheTableOfPrivilegesIsCurrent: docs/security.md lists the privileges of the role, each with what it is for.
func TestTheTableOfPrivilegesIsCurrent(t *testing.T) {
	t.Parallel()
	golden.Section(t, page, begin, end, table(t))
}

func table(t *testing.T) string {
	t.Helper()
	var text strings.Builder
	text.WriteString("\n| privilege | on | what for | release |\n|---|---|---|---|\n")
	for _, row := range role.Rows() {
		require.NotEmpty(t, row.Purpose, row.Privilege)
		var on []string
		for _, scope := range row.Scopes {
			require.Contains(t, paths, scope, row.Privilege)
			on = append(on, "`"+paths[scope]+"`")
		}
		fmt.Fprintf(&text, "| `%s` | %s | %s | %s |\n", row.Privilege, strings.Join(on, ", "), row.Purpose, releases(row))
	}
	text.WriteString("\n")
	return text.String()
}

// releases returns which releases know a privilege, in words.
func releases(row role.Row) string {
	switch every := (role.Release{}); {
	case row.Since != every:
		return "from " + row.Since.String()
	case row.Until != every:
		return "before " + row.Until.String()
	default:
		return "all"
	}
}
