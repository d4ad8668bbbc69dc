package qemu

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Guest is what a guest agent tells of its machine.
type Guest struct {
	Hostname string
	// KernelRelease, KernelVersion and Machine are those of uname.
	KernelRelease, KernelVersion, Machine string
	Interfaces                            []GuestInterface
}

// GuestInterface is a network interface inside the guest.
type GuestInterface struct {
	Name      string
	MAC       net.HardwareAddr
	Addresses []netip.Prefix
}

func (s settings) agentEnabled(m *vm) bool {
	options, err := schema.ParseProperties(s.fields("agent"), m.Config.Get("agent"))
	return err == nil && options["enabled"] == "1"
}

var errAgentSilent = errors.New("QEMU guest agent is not running")

// agentCommand answers one of the guest agent's methods (API2/Qemu/Agent.pm, register_command).
func (s *Service) agentCommand(name string) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		enabled, err := s.agentOf(c)
		if err != nil {
			return nil, err
		}

		guest, err := s.ping(c.Ctx, c.VMID, enabled)
		if err != nil {
			return nil, err
		}

		return map[string]any{"result": guest.answer(name)}, nil
	}
}

// agentOf reports whether the agent of a VM that runs is switched on. Whether one is configured is whether the key is there, so
// that one that is switched off counts as one that does not answer (QemuServer/Agent.pm, assert_agent_available).
func (s *Service) agentOf(c *api.Call) (enabled bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	m, err := s.find(c.Node, c.VMID)

	switch {
	case err != nil:
		return false, err
	case !m.Config.Has("agent"):
		return false, errors.New("No QEMU guest agent configured")
	case !m.Running:
		return false, fmt.Errorf("VM %d is not running", m.ID)
	default:
		return s.agentEnabled(m), nil
	}
}

// ping asks whether the agent answers, for three seconds where QEMU has a port for it and at once where there is none
// (QemuServer/Agent.pm, qga_check_running; QMPClient.pm, open_connection).
func (s *Service) ping(ctx context.Context, vmid int, enabled bool) (Guest, error) {
	if !enabled {
		return Guest{}, errAgentSilent
	}

	if guest, answers := s.machines.AskAgent(vmid); answers {
		return guest, nil
	}

	if err := s.env.Wait(ctx, pace.AgentPing); err != nil {
		return Guest{}, err
	}

	return Guest{}, errAgentSilent
}

// answer is what the agent's command of this name returns (qemu qga/qapi-schema.json).
func (g Guest) answer(command string) any {
	switch command {
	case "get-host-name":
		return map[string]string{"host-name": g.Hostname}
	case "get-osinfo":
		// The extension of Talos mounts no os-release into the agent's container, so that nothing but uname is left
		// (siderolabs/extensions guest-agents/qemu-guest-agent/qemu-guest-agent.yaml; qemu qga/commands-posix.c).
		return map[string]string{"kernel-release": g.KernelRelease, "kernel-version": g.KernelVersion, "machine": g.Machine}
	case "network-get-interfaces":
		return g.interfaces()
	default: // ping
		return map[string]string{}
	}
}

type guestInterface struct {
	Name      string         `json:"name"`
	MAC       string         `json:"hardware-address,omitempty"`
	Addresses []guestAddress `json:"ip-addresses,omitempty"`
}

type guestAddress struct {
	Address string `json:"ip-address"`
	Type    string `json:"ip-address-type"`
	Prefix  int    `json:"prefix"`
}

func (g Guest) interfaces() []guestInterface {
	list := []guestInterface{}

	for _, nic := range g.Interfaces {
		shown := guestInterface{Name: nic.Name, MAC: nic.MAC.String()}

		for _, prefix := range nic.Addresses {
			kind := "ipv6"
			if prefix.Addr().Is4() {
				kind = "ipv4"
			}

			shown.Addresses = append(shown.Addresses, guestAddress{prefix.Addr().String(), kind, prefix.Bits()})
		}

		list = append(list, shown)
	}

	return list
}
