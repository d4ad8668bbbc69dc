//go:build linux

package main

import (
	"context"
	"crypto/rand"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/lab/factory"
	"github.com/em-infra/em-infra/internal/lab/proxmox"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
	"github.com/em-infra/em-infra/internal/lab/proxmox/storage"
	"github.com/em-infra/em-infra/internal/terminal"
	"github.com/em-infra/em-infra/internal/terminal/ptytest"
)

// TestInitOnATerminal: a person is asked, enter takes what is proposed, a wrong answer is asked again with the reason, and the token is shown
// nowhere.
func TestInitOnATerminal(t *testing.T) {
	t.Parallel()
	endpoint, token := newProxmox(t)
	images := httptest.NewServer(factory.New())
	t.Cleanup(images.Close)
	root := t.TempDir()
	screen := initOnATerminal(t, root, "--insecure --image-factory "+images.URL,
		ptytest.Reply{Shown: "name of the new stack [home]: "},
		ptytest.Reply{Shown: "URL of Proxmox VE, e.g. https://vmhost:8006: ", Typed: endpoint},
		ptytest.Reply{Shown: "(not shown): ", Typed: token, Hidden: true},
		ptytest.Reply{Shown: "name of the cluster [home]: ", Typed: "lab"},
		ptytest.Reply{Shown: "bridge of the machines [vmbr0]: "},
		ptytest.Reply{Shown: "VLAN tag, 0 for none [0]: "},
		ptytest.Reply{Shown: "[192.168.20.0/24]: ", Typed: "192.168.20.0"},
		ptytest.Reply{Shown: "is no network: write one such as 192.168.20.0/24\r\nnetwork of the machines, e.g. 192.168.20.0/24 [192.168.20.0/24]: "},
		ptytest.Reply{Shown: "its gateway [192.168.20.1]: "},
		ptytest.Reply{Shown: "first of the addresses to use [192.168.20.10]: ", Typed: "192.168.20.100"},
		ptytest.Reply{Shown: "control planes: 1, 3 or 5 [1]: "},
		ptytest.Reply{Shown: "workers [1]: ", Typed: "2"},
		ptytest.Reply{Shown: "storage of the ISO [local]: "},
		ptytest.Reply{Shown: "storage of the disks [local-lvm]: "},
	)
	ptytest.RequireFits(t, screen, terminal.Columns)
	require.Contains(t, screen, "lab: 1+2 nodes on pve, Kubernetes API at https://192.168.20.100:6443\r\n")
	require.NotContains(t, screen, token)
	require.FileExists(t, filepath.Join(root, "stacks", "home", "nodes.yaml"))
}

// TestInitOfSystemsOnATerminal asks only what systems need.
func TestInitOfSystemsOnATerminal(t *testing.T) {
	t.Parallel()
	endpoint, token := newProxmox(t)
	root := t.TempDir()
	screen := initOnATerminal(t, root, "--insecure --kind systems --stack dns --endpoint "+endpoint,
		ptytest.Reply{Shown: "(not shown): ", Typed: token, Hidden: true},
		ptytest.Reply{Shown: "bridge of the machines [vmbr0]: "},
		ptytest.Reply{Shown: "VLAN tag, 0 for none [0]: "},
		ptytest.Reply{Shown: "network of the machines, e.g. 192.168.20.0/24 [192.168.20.0/24]: "},
		ptytest.Reply{Shown: "its gateway [192.168.20.1]: "},
		ptytest.Reply{Shown: "first of the addresses to use [192.168.20.10]: "},
		ptytest.Reply{Shown: "storage of the disks [local-lvm]: "},
	)
	require.Contains(t, screen, "stacks/dns is sound: 1 virtual machine, 1 container, 1 image, ")
	require.FileExists(t, filepath.Join(root, "stacks", "dns", "systems.yaml"))
}

// newProxmox serves a host with room for everything, and returns its endpoint and a token.
func newProxmox(t *testing.T) (endpoint, token string) {
	t.Helper()
	own := proxmox.Token{ID: "em-infra@pve!operator", Secret: rand.Text(), Role: proxmox.OperatorRole, Privileges: proxmox.OperatorPrivileges(schema.Release91)}
	server, err := proxmox.NewServer(proxmox.Config{
		Release: schema.Release91, Tokens: []proxmox.Token{own},
		Hosts: []proxmox.Host{{
			Name: "pve", Cores: 16, MemoryMiB: 64 << 10,
			Storages: []proxmox.Storage{
				{Name: "local", Type: storage.Dir, Content: []string{storage.ISO, storage.Template, storage.Import}, TotalBytes: 96 << 30, Path: "/var/lib/vz"},
				{Name: "local-lvm", Type: storage.LVMThin, Content: []string{storage.Images, storage.RootDir}, TotalBytes: 1 << 40},
			},
			Bridges: []proxmox.Bridge{{
				Name: "vmbr0", Ports: []string{"eno1"}, VLANAware: true, Address: netip.MustParsePrefix("192.168.20.2/24"), Gateway: netip.MustParseAddr("192.168.20.1"),
			}},
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
	front := httptest.NewTLSServer(server)
	t.Cleanup(front.Close)
	return front.URL, own.ID + "=" + own.Secret
}

// initOnATerminal runs init in a folder on a terminal, with a person who replies, and returns what was shown.
func initOnATerminal(t *testing.T, folder, flags string, replies ...ptytest.Reply) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	process := exec.CommandContext(ctx, "/proc/self/exe", "-test.run=^TestATerminalThatDoesNotAnswer$")
	process.Dir = folder
	process.Env = ptytest.Environment(os.Environ(), insideTerminal+"=init "+flags, proxmoxTokenVariable+"=", proxmoxEndpointVariable+"=")
	screen, err := ptytest.Converse(t, process, terminal.Columns, replies...)
	require.NoError(t, err, screen)
	return screen
}
