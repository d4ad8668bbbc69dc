package pve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
)

// Agent is what the guest agent of a virtual machine says. The one of Talos does not know what its system is called: there is no
// os-release in its container (siderolabs/extensions, guest-agents/qemu-guest-agent).
type Agent struct {
	// HostName is that of the time when the agent was started.
	HostName string `json:"hostName,omitempty"`
	// Kernel is its release, as 6.18.9-talos.
	Kernel string `json:"kernel,omitempty"`
	// Interfaces are those of the guest, its pods' among them.
	Interfaces []AgentInterface `json:"interfaces,omitempty"`
}

// AgentInterface is a network interface of a guest.
type AgentInterface struct {
	// Name is the guest's.
	Name string `json:"name"`
	// MAC is as the guest writes it, in lower case.
	MAC string `json:"mac,omitempty"`
	// Addresses are those that the guest has on it.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// AskAgent asks the guest agent of a virtual machine. Where nobody answers, that takes the host three seconds, and the error is
// its own sentence, such as "QEMU guest agent is not running" (qemu-server, QemuServer/Agent.pm).
func (r Reader) AskAgent(ctx context.Context, guest Guest) (agent Agent, err error) {
	var system struct {
		Kernel string `json:"kernel-release"`
	}
	if err := r.agentCommand(ctx, guest, "get-osinfo", &system); err != nil {
		return Agent{}, err
	}
	var name struct {
		Host string `json:"host-name"`
	}
	if err := r.agentCommand(ctx, guest, "get-host-name", &name); err != nil {
		return Agent{}, err
	}
	agent = Agent{HostName: name.Host, Kernel: system.Kernel}
	agent.Interfaces, err = r.agentInterfaces(ctx, guest)
	return agent, err
}

func (r Reader) agentInterfaces(ctx context.Context, guest Guest) (interfaces []AgentInterface, err error) {
	var told []struct {
		Name      string `json:"name"`
		MAC       string `json:"hardware-address"`
		Addresses []struct {
			Address string `json:"ip-address"`
		} `json:"ip-addresses"`
	}
	if err := r.agentCommand(ctx, guest, "network-get-interfaces", &told); err != nil {
		return nil, err
	}
	for _, one := range told {
		seen := AgentInterface{Name: one.Name, MAC: one.MAC}
		for _, text := range one.Addresses {
			address, err := netip.ParseAddr(text.Address)
			if err != nil {
				return nil, fmt.Errorf("the guest agent names an address that is none: %w", err)
			}
			seen.Addresses = append(seen.Addresses, address)
		}
		interfaces = append(interfaces, seen)
	}
	return interfaces, nil
}

// agentCommand reads one answer. The agent's own errors come with status 200 (PVE/API2/Qemu/Agent.pm, register_command).
func (r Reader) agentCommand(ctx context.Context, guest Guest, command string, into any) error {
	var answer struct {
		Result json.RawMessage `json:"result"`
	}
	if err := r.get(ctx, &answer, nodePath(guest.Node, "qemu/"+strconv.Itoa(guest.VMID)+"/agent/"+command)); err != nil {
		return err
	}
	var failed struct {
		Error struct {
			Description string `json:"desc"`
		} `json:"error"`
	}
	if json.Unmarshal(answer.Result, &failed) == nil && failed.Error.Description != "" { // a list is no object with an error
		return errors.New(failed.Error.Description)
	}
	return json.Unmarshal(answer.Result, into)
}
