package status_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestSystems checks the table of the systems, what is wrong with each, and what to do about it. A guest with another name or of another type is not
// the system.
func TestSystems(t *testing.T) {
	t.Parallel()
	wanted := []status.System{
		{Name: "tools", Type: status.VirtualMachine, VMID: 210, Host: "pve1"}, {Name: "mail", Type: status.VirtualMachine, VMID: 211, Host: "pve1"},
		{Name: "pihole", Type: status.Container, VMID: 212, Host: "pve1"}, {Name: "web", Type: status.Container, VMID: 213, Host: "pve1"},
		{Name: "proxy", Type: status.Container, VMID: 214, Host: "pve1"}, {Name: "far", Type: status.Container, VMID: 215, Host: "pve3"},
		{Name: "away", Type: status.VirtualMachine, VMID: 216, Host: "pve3"}, {Name: "full", Type: status.VirtualMachine, VMID: 217, Host: "pve1"},
		{Name: "just", Type: status.VirtualMachine, VMID: 218, Host: "pve4"},
	}
	report := status.Sources{}.OfState(time.Now()).AskForSystems(t.Context(), answering(t, map[string]string{
		"/nodes": `[{"node":"pve1","status":"online"}, {"node":"pve2","status":"online"}, {"node":"pve3","status":"unknown"}, {"node":"pve4","status":"offline"}]`,
		"/cluster/resources": `[
			{"vmid":210,"name":"tools","type":"qemu","node":"pve1","status":"running"}, {"vmid":211,"name":"mail","type":"qemu","node":"pve2","status":"running"},
			{"vmid":212,"name":"pihole","type":"lxc","node":"pve1","status":"stopped"}, {"vmid":213,"name":"others","type":"lxc","node":"pve1","status":"running"},
			{"vmid":214,"name":"proxy","type":"lxc","node":"pve2","status":"running"}, {"vmid":215,"type":"lxc","node":"pve3","status":"unknown"},
			{"vmid":216,"type":"lxc","node":"pve3","status":"unknown"}, {"vmid":217,"name":"full","type":"qemu","node":"pve1","status":"io-error"},
			{"vmid":218,"name":"just","type":"qemu","node":"pve4","status":"running"}]`,
	}), wanted)
	require.Equal(t, []string{
		"mail is on pve2", "pihole is stopped", "web is absent", "proxy is on pve2", "far is unknown", "away is absent", "full is io-error", "just is unknown",
	}, report.Lacks())
	var text strings.Builder
	require.NoError(t, report.WriteText(&text))
	require.Contains(t, text.String(), `SYSTEM  HOST  VM OR CT
tools   pve1  VM 210 running
mail    pve1  VM 211 running on pve2
pihole  pve1  CT 212 stopped
web     pve1  CT 213 absent
proxy   pve1  CT 214 running on pve2
far     pve3  CT 215 unknown
away    pve3  VM 216 absent
full    pve1  VM 217 io-error
just    pve4  VM 218 unknown
`)
	require.Contains(t, text.String(), "system        mail: it is on pve2: `em-infra up` moves it to pve1, or write host: pve2 in systems.yaml\n"+
		"system        pihole: it is stopped: `em-infra up` starts it\n"+
		"system        web: it is not on its host: `em-infra up` makes it\n"+
		"system        proxy: it is on pve2: move it back, or write host: pve2 in systems.yaml\n"+
		"system        far: its host pve3 is off, or sends no status: start the host, or its service pvestatd\n"+
		"system        away: it is not on its host: `em-infra up` makes it\n"+
		"system        full: it is halted, since a disk of it could not be written: make room on its storage, or bring that back, then `qm resume 217` on pve1\n"+
		"system        just: its host pve4 is off, or sends no status: start the host, or its service pvestatd\n")

	require.Empty(t, status.Sources{}.OfState(time.Now()).AskForSystems(t.Context(), guests(t, "[]"), nil).Systems, "a stack of hosts has none")
	unread := status.Sources{}.OfState(time.Now()).AskForSystems(t.Context(), guests(t, "no list"), wanted)
	require.Len(t, unread.Unread, 1)
	require.Contains(t, unread.Unread[0], "the systems: ")
}

// guests is a host with these guests.
func guests(t *testing.T, list string) pve.Reader {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"data":%s}`, list)
	}))
	t.Cleanup(server.Close)
	host, err := pve.NewReader(pve.Connection{Endpoint: server.URL, Token: "em-infra@pve!t=" + rand.Text(), Insecure: true})
	require.NoError(t, err)
	return host
}
