package status

import (
	"cmp"
	"fmt"
	"io"
	"slices"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/internal/terminal"
)

func (m Machine) vmText(out io.Writer) string {
	status := cmp.Or(m.VM, "not asked")
	if m.VM != "" && m.VM != running {
		status = terminal.Paint(out, terminal.Bad, status)
	}
	if m.On != "" {
		status += " on " + terminal.Paint(out, terminal.Bad, m.On)
	}
	return fmt.Sprintf("%d %s", m.VMID, status)
}

// where returns the host that has the virtual machine, for the commands that are run there.
func (m Machine) where() string { return cmp.Or(m.On, m.Host) }

// talosText returns the stage of a node that answers. Its unmet conditions are printed below the table.
func (m Machine) talosText(out io.Writer) string {
	switch {
	case m.Node == nil:
		return "-"
	case m.Node.Stage != "":
		return toned(out, m.Node.Stage == running && len(m.Node.Unmet) == 0, m.Node.Stage)
	case m.Silent:
		return toned(out, false, "silent")
	case slices.Contains(m.Node.Unmet, nodeops.ErrForeign.Error()):
		return toned(out, false, "foreign")
	default:
		return toned(out, false, "error")
	}
}

// vmRemedy returns what to do about a machine that does not run, or does not answer although it runs; empty if nothing is to be done.
func (m Machine) vmRemedy() string {
	switch {
	case m.Taken != "":
		return fmt.Sprintf("VMID %d is taken by %s: `em-infra preflight` says whose it is and what to do", m.VMID, m.Taken)
	case !m.Known && m.VM == absent:
		return "it is not made yet: `em-infra up` makes it"
	case !m.Known || m.VM == "":
		return ""
	case m.VM == absent:
		return "there is none: `em-infra preview` shows what `em-infra up` makes of it"
	case m.VM != running:
		return statusRemedy(m.VM, m.VMID, m.where())
	case m.Silent:
		return fmt.Sprintf("it runs, and its Talos does not answer: look at its console; if it hangs, `qm reset %d` on %s", m.VMID, m.where())
	default:
		return ""
	}
}

func (m Machine) kubernetesText(out io.Writer) string {
	if m.Kubernetes == nil {
		return "-"
	}
	text := toned(out, false, "NotReady")
	if m.Kubernetes.Ready {
		text = toned(out, true, "Ready")
	}
	if m.Kubernetes.Cordoned {
		text += ", " + terminal.Paint(out, terminal.Warn, "cordoned")
	}
	if m.Kubernetes.GPUs > 0 {
		text += fmt.Sprintf(", %d GPU", m.Kubernetes.GPUs)
	}
	return text
}
