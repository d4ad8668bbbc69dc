package operator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator/internal/drift"
)

// ofAppliance is an inventory with a machine that is installed from an ISO, and a container.
const ofAppliance = `apiVersion: em-infra/v1alpha1
kind: Systems
name: site-systems
proxmox: {host: vmhost, diskStorage: local-lvm}
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH operator"]
isos:
  - {name: opnsense, url: "https://images.example/OPNsense.iso", checksum: "sha256:CHECKSUM"}
containerTemplates:
  - {name: debian, url: "https://images.example/debian.tar.zst", checksum: "sha256:CHECKSUM", osType: debian}
virtualMachines:
  - {name: firewall, vmid: 220, iso: opnsense, EJECTEDnetworks: [{}]}
containers:
  - {name: pihole, vmid: 211, template: debian, diskGiB: 8, networks: [{address: dhcp}]}
`

// TestWhatCommandsHaveMadeOfSystems: no refresh reads it, so it is asked for. An ISO that is in no drive may be deleted.
func TestWhatCommandsHaveMadeOfSystems(t *testing.T) {
	t.Parallel()
	const (
		disc    = `{"volid":"local:iso/opnsense-abababababababab.iso","content":"iso"}`
		archive = `{"volid":"local:vztmpl/debian-abababababababab.tar.zst","content":"vztmpl"}`
		root    = "site-systems-pihole-root"
	)
	absent := func(what string) drift.Difference {
		return drift.Difference{Subject: what + " on vmhost", Property: "existence", Want: "there", Have: "absent"}
	}
	for name, test := range map[string]struct {
		ejected, volumes, root string
		differences            []drift.Difference
		unread                 []string
	}{
		"all is there":                 {"", disc + "," + archive, "size=8G", nil, nil},
		"the ISO is gone":              {"", archive, "size=8G", []drift.Difference{absent("local:iso/opnsense-abababababababab.iso")}, nil},
		"the ISO in no drive is gone":  {"ejected: true, ", archive, "size=8G", nil, nil},
		"the template of it is gone":   {"", disc, "size=8G", []drift.Difference{absent("local:vztmpl/debian-abababababababab.tar.zst")}, nil},
		"a root is smaller":            {"", disc + "," + archive, "size=4G", []drift.Difference{{Subject: "pihole", Property: "disk", Want: "8 GiB", Have: "4 GiB"}}, nil},
		"a root has a size in another": {"", disc + "," + archive, "size=4608M", nil, []string{"the root of pihole: the size of the root \"local-lvm:vm-211-disk-0,size=4608M\" is not in GiB: grow it with `pct resize` to whole GiB, then run up again"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				answer, isThere := map[string]string{
					"/api2/json/cluster/resources":                  `[{"vmid":211,"name":"pihole","type":"lxc","node":"vmhost","status":"running"}]`,
					"/api2/json/nodes/vmhost/lxc/211/config":        `{"rootfs":"local-lvm:vm-211-disk-0,` + test.root + `"}`,
					"/api2/json/nodes/vmhost/storage/local/content": "[" + test.volumes + "]",
				}[r.URL.Path]
				require.True(t, isThere, r.URL.Path)
				_, _ = io.WriteString(w, `{"data":`+answer+`}`)
			}))
			defer server.Close()
			project := siteWithDNS(t, "192.168.20.1", server.URL)
			text := strings.NewReplacer("CHECKSUM", strings.Repeat("ab", 32), "EJECTED", test.ejected).Replace(ofAppliance)
			require.NoError(t, os.WriteFile(filepath.Join(project, "stacks", "site-systems", "systems.yaml"), []byte(text), 0o600))
			work, err := workspace.Real(project, "site-systems", "")
			require.NoError(t, err)

			var made apitype.DeploymentV3
			for _, name := range []string{"site-systems-iso-opnsense-vmhost", "site-systems-template-debian-vmhost", root} {
				inputs := map[string]any{"create": "em-infra image ensure vmhost FILE"}
				if name == root {
					inputs["create"] = "em-infra container grow vmhost 211 8"
				}
				made.Resources = append(made.Resources, apitype.ResourceV3{URN: resource.NewURN("site-systems", "em-infra", "", token.Command, name), Type: token.Command, Custom: true, Inputs: inputs})
			}
			host := pve.Connection{Endpoint: server.URL, Token: "a@pve!b=c", Insecure: true}
			found := sessionOn(t, work).On(engine.State{}, host, remedy.Place{}).SystemsByHand(t.Context(), made)
			require.Equal(t, test.differences, found.Differences)
			require.Equal(t, test.unread, found.Unread)
			require.Len(t, found.ByHand, len(test.differences), "the next run makes it again")
		})
	}
}
