package talos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path"
	"slices"
	"time"

	"github.com/siderolabs/talos/pkg/machinery/constants"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// agentService is the service of the extension qemu-guest-agent. It depends only on containerd, the API's socket and QEMU's
// port, so it also runs in maintenance mode (siderolabs/extensions v1.12.4,
// guest-agents/qemu-guest-agent/qemu-guest-agent.yaml).
const agentService = "ext-qemu-guest-agent"

const agentExtension = "qemu-guest-agent"

// AgentAnswer is what QEMU's guest agent reports about a node.
type AgentAnswer struct {
	Hostname string
	// KernelRelease, KernelVersion and Machine have the values of uname.
	KernelRelease, KernelVersion, Machine string
	Links                                 []AgentLink
}

// AgentLink is a network interface with its addresses.
type AgentLink struct {
	Name      string
	MAC       net.HardwareAddr
	Addresses []netip.Prefix
}

// startAgent starts the extension's service if the image has it.
func (s *system) startAgent() error {
	has := slices.ContainsFunc(s.release.Extensions, func(e Extension) bool { return path.Base(e.Name) == agentExtension })

	switch {
	case !has:
		return nil
	case !s.hardware.AgentPort:
		return s.services.Set(agentService, service.Waiting, `Waiting for file "/dev/virtio-ports/org.qemu.guest_agent.0" to exist`)
	default:
		return s.services.Set(agentService, service.Running, "Started task "+agentService)
	}
}

// AskAgent returns the answer of a machine's guest agent; false without an answer.
func (f *Fleet) AskAgent(vmid int) (AgentAnswer, bool) {
	m := f.machine(vmid)
	if m == nil {
		return AgentAnswer{}, false
	}

	s := m.running()
	if s == nil || m.effect(StepGuestAgent).Hang {
		return AgentAnswer{}, false
	}

	if state, _ := s.services.State(agentService); state != service.Running {
		return AgentAnswer{}, false
	}

	return s.agentAnswer(), true
}

// ShutdownByAgent makes the agent run Talos' /sbin/shutdown, which drains the node first, because it is not forced (qemu
// qga/commands-posix.c, qmp_guest_shutdown; talos internal/app/poweroff/main.go).
func (f *Fleet) ShutdownByAgent(ctx context.Context, vmid int) error {
	m := f.machine(vmid)
	if m == nil {
		return fmt.Errorf("shut down machine %d: %w", vmid, ErrUnknownMachine)
	}

	if err := m.halt(ctx, false); err != nil {
		return fmt.Errorf("shut down machine %d: %w", vmid, err)
	}

	return nil
}

func (s *system) agentAnswer() AgentAnswer {
	answer := AgentAnswer{
		KernelRelease: constants.DefaultKernelVersion, KernelVersion: "#1 SMP Talos", Machine: "x86_64",
		Links: []AgentLink{{
			Name: "lo", MAC: make(net.HardwareAddr, 6),
			Addresses: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/8"), netip.MustParsePrefix("::1/128")},
		}},
	}

	n, err := s.network(s.config())
	if err != nil {
		return answer // a node without a valid name has none to report
	}

	answer.Hostname = n.hostname

	for i, nic := range s.hardware.NICs {
		link := AgentLink{Name: fmt.Sprintf("eth%d", i), MAC: nic.MAC}
		for _, address := range n.addresses {
			if n.cards[address.Addr()] == i {
				link.Addresses = append(link.Addresses, address)
			}
		}

		answer.Links = append(answer.Links, link)
	}

	return answer
}

// errNotCordoned is the error of Talos' wait for its own cordon, which needs a Kubernetes API (v1alpha1_sequencer_tasks.go,
// waitForNodeCordoned).
var errNotCordoned = errors.New("the node was not cordoned: context deadline exceeded")

// cordonTimeout is the limit of that wait.
const cordonTimeout = time.Minute

// cordonAndDrain is a phase of a shutdown that is not forced. It fails if no Kubernetes API answers. A machine without a
// kubelet has nothing to drain. The effect on pods is not emulated.
func cordonAndDrain(ctx context.Context, s *system, _ command) error {
	answers := func() bool {
		node, known := s.kubernetesNode()
		return !known || !node.Kubelet || s.fleet.config.Kubernetes.Answers(ctx, node)
	}
	if answers() {
		return nil
	}

	if err := s.fleet.config.Pace.Sleep(ctx, cordonTimeout); err != nil {
		return err
	}

	if !answers() {
		return errNotCordoned
	}

	return nil
}
