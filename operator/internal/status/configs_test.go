package status_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/internal/pve"
	"github.com/em-infra/em-infra/internal/remedy"
	"github.com/em-infra/em-infra/operator/internal/status"
)

// TestAGuestThatGoesMeanwhile: one that was deleted since the list was read is no guest any more, and one that was moved is read where it is.
func TestAGuestThatGoesMeanwhile(t *testing.T) {
	t.Parallel()
	for name, after := range map[string]string{
		"deleted": `[]`,
		"moved":   `[{"vmid":300,"name":"mail","type":"qemu","node":"pve1","status":"running"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answers := maps.Clone(aCluster)
			answers["/cluster/resources"] = `[{"vmid":300,"name":"mail","type":"qemu","node":"pve3","status":"running"}]`
			answers["/nodes/pve1/qemu/300/config"] = `{"name":"mail","ide2":"` + earlierISO + `,media=cdrom"}`
			delete(answers, "/nodes/pve3/qemu/300/config")
			var isGone atomic.Bool
			sources := status.Sources{Inventory: theStack, Deployment: withTemplate(), Host: served(t, func(w http.ResponseWriter, r *http.Request) {
				path := strings.TrimPrefix(r.URL.Path, "/api2/json")
				answer, known := answers[path]
				if path == "/nodes/pve3/qemu/300/config" {
					isGone.Store(true)
				}
				if path == "/cluster/resources" && isGone.Load() {
					answer = after
				}
				if !known {
					w.WriteHeader(http.StatusInternalServerError)
					return
				}
				fmt.Fprintf(w, `{"data":%s}`, answer)
			})}
			left, err := sources.Left(t.Context(), nil)
			require.NoError(t, err)
			require.Len(t, left.ISOs, 1)
			if name == "deleted" {
				require.Equal(t, "pvesm free "+earlierISO, left.ISOs[0].Remove)
				return
			}
			require.Equal(t, "leave it: a machine names it in its drive, and would not start without it", left.ISOs[0].Do)
		})
	}
}

// TestWhatADestroyLeavesOnAHostThatIsGone: a host that was removed from the cluster is in no list of hosts, while its guests stay in the list of
// guests. A guest that has a VMID of the stack may belong to the stack.
func TestWhatADestroyLeavesOnAHostThatIsGone(t *testing.T) {
	t.Parallel()
	sources := status.Sources{Inventory: theStack, Deployment: withTemplate(), Host: clusterWith(t, map[string]string{
		"/nodes": `[{"node":"pve1","status":"online"}]`, "/nodes/pve3/qemu/300/config": "", "/nodes/pve3/qemu/101/config": "",
		"/cluster/resources": `[{"vmid":101,"type":"qemu","node":"pve3","status":"unknown"}, {"vmid":300,"type":"qemu","node":"pve3","status":"unknown"}]`,
	})}
	left, err := sources.Left(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, left.Machines)
	require.Equal(t, []status.Orphan{{
		What: "VM 101 on pve3, which may belong to the stack: its configuration is not known (its host pve3 is no host of the cluster any more)", Host: "pve3",
		Do: "when its host answers, run `em-infra destroy` again: it tells whether this guest belongs to the stack",
	}}, left.Unclear)
}

// TestAHostThatCannotBeReached is asked for one configuration, and not for those of its other guests. It holds up no destroy.
func TestAHostThatCannotBeReached(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	host := served(t, func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/api2/json")
		switch {
		case strings.HasPrefix(path, "/nodes/pve3/qemu/"):
			asked.Add(1)
			w.WriteHeader(595) // as pveproxy says that it cannot reach a host
		case path == "/cluster/resources":
			fmt.Fprint(w, `{"data":[{"vmid":300,"type":"qemu","node":"pve3","status":"running"}, {"vmid":301,"type":"qemu","node":"pve3","status":"running"},
				{"vmid":302,"type":"qemu","node":"pve3","status":"running"}, {"vmid":303,"type":"qemu","node":"pve3","status":"running"}]}`)
		case aCluster[path] == "":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			fmt.Fprintf(w, `{"data":%s}`, aCluster[path])
		}
	})
	report := status.Sources{Inventory: theStack, Deployment: inState(), Host: host}.Report(t.Context(), time.Now())
	require.Empty(t, report.Unread)
	require.Contains(t, report.Unclear, "which machines of the stack the state does not know: the configurations of 4 guests of pve3 are not known: it does not answer (595 status code 595)")
	require.LessOrEqual(t, asked.Load(), int64(2), "once, and once more by the client")
	left, err := status.Sources{Inventory: theStack, Deployment: withTemplate(), Host: host}.Left(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, left.Unclear, "none has a VMID of the stack")
}

// TestManyGuestsAreOneClause: a host with many guests does not fill the page.
func TestManyGuestsAreOneClause(t *testing.T) {
	t.Parallel()
	found := status.Found{Unread: map[int]error{}}
	for vmid := range 40 {
		found.Guests = append(found.Guests, pve.Guest{VMID: 300 + vmid, Node: "pve3", Type: "qemu"})
		found.Unread[300+vmid] = &status.OffError{Host: "pve3"}
	}
	const of = "which machines of the stack the state does not know: "
	require.Equal(t, []string{of + "the configurations of 40 guests of pve3 are not known: it is off"}, status.Ours{}.Unclear(found))
	for vmid := range found.Unread {
		found.Unread[vmid] = errors.New("unable to parse it")
	}
	require.Equal(t, []string{of + "the configurations of 40 guests, such as VM 300, VM 301, VM 302, are not known (the first: unable to parse it)"}, status.Ours{}.Unclear(found))
	found.Guests = found.Guests[:2]
	require.Equal(t, []string{of + "the configurations of VM 300, VM 301 are not known (the first: unable to parse it)"}, status.Ours{}.Unclear(found))
}

// TestUnclearIsCompleted: the sentences about what is unclear name commands, which are completed in JSON as in the text.
func TestUnclearIsCompleted(t *testing.T) {
	t.Parallel()
	report := reportOf(t, map[string]string{"/access/permissions": `{}`}).At(remedy.Place{Stack: "--stack home"})
	require.Contains(t, report.Unclear[0], "`em-infra role --stack home` prints how")
}
