package status

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/guestagent"
	"github.com/em-infra/em-infra/internal/pve"
)

// GuestAgent is what the guest agent of a machine reports to its host.
type GuestAgent struct {
	pve.Agent
	// Silence is why it does not answer; empty if it answers.
	Silence string `json:"silence,omitempty"`
	// Remedy is what to do about it.
	Remedy string `json:"remedy,omitempty"`
}

// agentPatience is the time limit for all agents together; the host itself waits three seconds for one.
const agentPatience = 5 * time.Second

// askAgents asks the guest agents of the running machines, if the inventory's images contain them.
func (s Sources) askAgents(ctx context.Context, r *Report) error {
	if !guestagent.In(s.Inventory.Cluster.Talos.Schematic.Extensions) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, agentPatience)
	defer cancel()
	guests, err := s.Host.Guests(ctx)
	if err != nil {
		return fmt.Errorf("guest agents: %w", err)
	}
	var running []pve.Guest
	for _, guest := range guests {
		if guest.Type == "qemu" && guest.Status == "running" {
			running = append(running, guest)
		}
	}
	inParallel(running, func(guest pve.Guest) error {
		i := slices.IndexFunc(r.Machines, func(m Machine) bool { return m.VMID == guest.VMID })
		if i >= 0 {
			r.Machines[i].GuestAgent = s.askAgent(ctx, guest)
		}
		return nil
	})
	return nil
}

// askAgent returns no error, because a silent agent does not affect the cluster.
func (s Sources) askAgent(ctx context.Context, guest pve.Guest) *GuestAgent {
	info, err := s.Host.AskAgent(ctx, guest)
	switch {
	case err == nil:
		return &GuestAgent{Agent: info}
	case errors.Is(err, pve.ErrForbidden):
		return &GuestAgent{Silence: "the token may not ask it", Remedy: "`em-infra role` with the stack prints what the token lacks"}
	case ctx.Err() != nil:
		return &GuestAgent{Silence: fmt.Sprintf("no answer within %s", agentPatience), Remedy: "ask again when the host has less to do"}
	}
	config, unread := s.Host.GuestConfig(ctx, guest)
	if unread == nil && !agentEnabled(config["agent"]) {
		return &GuestAgent{Silence: "it is switched off in Proxmox VE", Remedy: "`em-infra up` switches it on, which reboots the machine"}
	}
	return &GuestAgent{Silence: err.Error()}
}

// agentEnabled reads a setting like 1, enabled=1,type=virtio or 0 (qemu-server, QemuServer/Agent.pm, agent_fmt).
func agentEnabled(setting string) bool {
	return slices.ContainsFunc(strings.Split(setting, ","), func(part string) bool { return part == "1" || part == "enabled=1" })
}

// agentText describes an agent for the user; empty without an agent.
func (m Machine) agentText() string {
	switch a := m.GuestAgent; {
	case a == nil:
		return ""
	case a.Silence == "":
		return strings.Join(append([]string{m.Name + ": " + a.Kernel}, m.agentAddresses()...), ", ")
	case a.Remedy != "":
		return fmt.Sprintf("%s does not answer (%s): %s", m.Name, a.Silence, a.Remedy)
	default:
		return fmt.Sprintf("%s does not answer (%s): %s", m.Name, a.Silence, m.agentRemedy())
	}
}

// agentRemedy returns the remedy for an agent that should answer according to the host.
func (m Machine) agentRemedy() string {
	if m.otherImage() != nil {
		return "it comes with the image of the inventory, see below"
	}
	return fmt.Sprintf("`talosctl -n %s service %s` says why: one that waits for its device gets it by `qm reboot %d` on %s, one that was stopped is started with `start` behind it",
		m.Address, guestagent.Service, m.VMID, m.where())
}

// agentAddresses returns the addresses of the machine's own card, without the addresses of pods.
func (m Machine) agentAddresses() []string {
	var texts []string
	for _, one := range m.GuestAgent.Interfaces {
		if !slices.ContainsFunc(one.Addresses, func(a netip.Addr) bool { return a == m.Address }) {
			continue
		}
		for _, address := range one.Addresses {
			if !address.IsLinkLocalUnicast() {
				texts = append(texts, address.String())
			}
		}
	}
	return texts
}
