// Package agent queries the guest agents of VMs (qemu-server QemuServer/Agent.pm, API2/Qemu/Agent.pm). It is stateless, and
// holds no lock while it waits for an agent.
package agent

import (
	"context"
	"errors"
	"fmt"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/host"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/config"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/machine"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/process"
	"github.com/em-infra/em-infra/internal/lab/proxmox/qemu/settings"
)

// ErrSilent is returned if an agent does not answer.
var ErrSilent = errors.New("QEMU guest agent is not running")

// Service queries the guest agents of a cluster's VMs. It is safe for concurrent use.
type Service struct {
	env       *host.Environment
	configs   *config.Service
	processes *process.Service
	settings  settings.Reader
	machines  machine.Machines
}

// New returns a service for the agents in these machines.
func New(
	env *host.Environment, configs *config.Service, processes *process.Service, reader settings.Reader, machines machine.Machines,
) *Service {
	return &Service{env: env, configs: configs, processes: processes, settings: reader, machines: machines}
}

// Methods returns the API methods about agents.
func (s *Service) Methods() []api.Method {
	const agent = settings.CreatePath + "/{vmid}/agent/"

	methods := []api.Method{api.Post(agent+"ping", s.command("ping"))}
	for _, command := range []string{"get-host-name", "get-osinfo", "network-get-interfaces"} {
		methods = append(methods, api.Get(agent+command, s.command(command)))
	}

	return methods
}

// command returns the handler of a guest agent method (API2/Qemu/Agent.pm, register_command).
func (s *Service) command(name string) func(*api.Call) (any, error) {
	return func(c *api.Call) (any, error) {
		enabled, err := s.enabled(c)
		if err != nil {
			return nil, err
		}

		guest, err := s.ping(c.Ctx, c.VMID, enabled)
		if err != nil {
			return nil, err
		}

		return map[string]any{"result": answer(guest, name)}, nil
	}
}

// enabled reports whether the agent of a running VM is enabled. A VM counts as configured if the key exists, so a disabled
// agent counts as one that does not answer (QemuServer/Agent.pm, assert_agent_available).
func (s *Service) enabled(c *api.Call) (enabled bool, err error) {
	err = s.configs.On(c.Node, c.VMID, func(m *config.VM) error {
		switch {
		case !m.Config.Has("agent"):
			return errors.New("No QEMU guest agent configured")
		case !s.processes.Running(m.ID):
			return fmt.Errorf("VM %d is not running", m.ID)
		default:
			enabled = s.settings.AgentEnabled(m.Config)
			return nil
		}
	})

	return enabled, err
}

// Answers reports whether an agent is configured in a VM. The error is nil or [ErrSilent], as the result of a ping.
func (s *Service) Answers(ctx context.Context, c *api.Call) (configured bool, err error) {
	enabled, err := s.enabled(c)
	if err != nil || !enabled {
		return false, nil //nolint:nilerr // no matter what the reason is, there is no agent to ask
	}

	_, err = s.ping(ctx, c.VMID, true)

	return true, err
}

// ping pings the agent. Without an answer it fails after three seconds, or at once if QEMU has no port for an agent
// (QemuServer/Agent.pm, qga_check_running; QMPClient.pm, open_connection).
func (s *Service) ping(ctx context.Context, vmid int, enabled bool) (machine.Guest, error) {
	if !enabled {
		return machine.Guest{}, ErrSilent
	}

	if guest, answers := s.machines.AskAgent(vmid); answers {
		return guest, nil
	}

	if err := s.env.Wait(ctx, pace.AgentPing); err != nil {
		return machine.Guest{}, err
	}

	return machine.Guest{}, ErrSilent
}

// answer returns the result of an agent command (qemu qga/qapi-schema.json).
func answer(g machine.Guest, command string) any {
	switch command {
	case "get-host-name":
		return map[string]string{"host-name": g.Hostname}
	case "get-osinfo":
		// Talos' extension mounts no os-release into the agent's container, so only the values of uname are known
		// (siderolabs/extensions guest-agents/qemu-guest-agent/qemu-guest-agent.yaml; qemu qga/commands-posix.c).
		return map[string]string{"kernel-release": g.KernelRelease, "kernel-version": g.KernelVersion, "machine": g.Machine}
	case "network-get-interfaces":
		return interfaces(g)
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

func interfaces(g machine.Guest) []guestInterface {
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
