package operator_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/operator"
)

// onTwoHosts are systems on two hosts.
const onTwoHosts = `apiVersion: em-infra/v1alpha1
kind: Systems
name: site-systems
proxmox: {host: vmhost, diskStorage: local-lvm}
sshKeys: ["ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcH operator"]
images:
  - {name: debian, vmid: 9000, url: "https://images.example/debian.qcow2", checksum: "sha256:abababababababababababababababababababababababababababababababab"}
  - {name: debian-two, host: second, vmid: 9001, url: "https://images.example/debian.qcow2", checksum: "sha256:abababababababababababababababababababababababababababababababab"}
virtualMachines:
  - {name: mail, vmid: 210, image: debian, networks: [{address: dhcp}]}
  - {name: shop, vmid: 211, host: second, image: debian-two, networks: [{address: dhcp}]}
`

// systemsWithTasks returns a session on these systems, and a host that has a task for each of the machines 210, 211 and 212.
func systemsWithTasks(t *testing.T) *operator.Session {
	t.Helper()
	task := func(host, vmid string) string {
		return `{"upid":"UPID:` + host + `:1:2:3:qmmove:` + vmid + `:a@pve!b:","type":"qmmove","id":"` + vmid + `","starttime":1}`
	}
	answers := map[string]string{
		"/api2/json/nodes/vmhost/tasks":                                           "[" + task("vmhost", "210") + "]",
		"/api2/json/nodes/second/tasks":                                           "[" + task("second", "211") + "," + task("second", "212") + "]",
		"/api2/json/nodes/vmhost/tasks/UPID:vmhost:1:2:3:qmmove:210:a@pve!b:/log": `[{"t":"1"}]`,
		"/api2/json/nodes/second/tasks/UPID:second:1:2:3:qmmove:211:a@pve!b:/log": `[{"t":"1"}]`,
		"/api2/json/nodes/second/tasks/UPID:second:1:2:3:qmmove:212:a@pve!b:/log": `[{"t":"1"}]`,
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer, isThere := answers[r.URL.Path]
		if !isThere {
			http.NotFound(w, r)
			return
		}
		_, _ = io.WriteString(w, `{"data":`+answer+`}`)
	}))
	t.Cleanup(server.Close)
	project := siteWithDNS(t, "192.168.20.1", server.URL)
	require.NoError(t, os.WriteFile(filepath.Join(project, "stacks", "site-systems", "systems.yaml"), []byte(onTwoHosts), 0o600))
	work, err := workspace.Real(project, "site-systems", "")
	require.NoError(t, err)
	host := pve.Connection{Endpoint: server.URL, Token: "a@pve!b=c", Insecure: true}
	return sessionOn(t, work).On(engine.State{}, host, remedy.Place{Stack: "--stack site-systems"})
}

// TestTasksOfSystems: a run on systems names the commands about tasks, so they know the machines of systems, and one that the inventory does
// not have any more.
func TestTasksOfSystems(t *testing.T) {
	t.Parallel()
	s := systemsWithTasks(t)
	require.NoError(t, s.TakeForTasks())
	for _, test := range []struct{ which, upid, err string }{
		{"210", "UPID:vmhost:1:2:3:qmmove:210:a@pve!b:", ""},
		{"shop", "UPID:second:1:2:3:qmmove:211:a@pve!b:", ""},
		{"212", "UPID:second:1:2:3:qmmove:212:a@pve!b:", ""},
		{"UPID:vmhost:1:2:3:qmmove:210:a@pve!b:", "UPID:vmhost:1:2:3:qmmove:210:a@pve!b:", ""},
		{"213", "", "no task works on VMID 213: see `em-infra task list --stack site-systems`"},
		{"shopp", "", `the inventory has no system "shopp": did you mean shop?`},
		{"UPID:x", "", "no task UPID:x goes on for the machines of this stack: see `em-infra task list --stack site-systems`"},
	} {
		task, err := s.TaskMeant(t.Context(), test.which)
		require.Equal(t, test.upid, task.UPID, test.which)
		if test.err == "" {
			require.NoError(t, err, test.which)
			continue
		}
		require.EqualError(t, err, test.err)
	}
	all, err := s.HostTasks(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, []int{210, 211}, []int{all[0].VMID, all[1].VMID})
}

// TestTasksOfHosts: a stack of hosts has no machines.
func TestTasksOfHosts(t *testing.T) {
	t.Parallel()
	work, err := workspace.Real(projectOfHosts(t, "a@https://one:8006"), "a", "")
	require.NoError(t, err)
	s := operator.In(operator.Options{Stack: "a"}, work, nil, time.Now).Session("", nil)
	require.EqualError(t, s.TakeForTasks(), work.Inventory+" holds hosts.yaml, which describes hosts of Proxmox VE, and this command works on a cluster: name the stack of a cluster (cluster.yaml and nodes.yaml)")
}
