package pve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
)

// Agent contains the guest agent's data on a virtual machine. Talos' agent does not report an operating system: its container
// has no os-release (siderolabs/extensions, guest-agents/qemu-guest-agent).
type Agent struct {
	// HostName is the name at the start of the agent.
	HostName string `json:"hostName,omitempty"`
	// Kernel is its release, as 6.18.9-talos.
	Kernel string `json:"kernel,omitempty"`
	// Interfaces of the guest, including those of pods.
	Interfaces []AgentInterface `json:"interfaces,omitempty"`
}

// AgentInterface is a network interface of a guest.
type AgentInterface struct {
	// Name is the name in the guest.
	Name string `json:"name"`
	// MAC in the guest's form, in lower case.
	MAC string `json:"mac,omitempty"`
	// Addresses on the interface.
	Addresses []netip.Addr `json:"addresses,omitempty"`
}

// AskAgent queries the guest agent of a virtual machine. If the agent does not answer, the host waits three seconds, and the
// error is its own sentence, such as "QEMU guest agent is not running" (qemu-server, QemuServer/Agent.pm).
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
	var answer []struct {
		Name      string `json:"name"`
		MAC       string `json:"hardware-address"`
		Addresses []struct {
			Address string `json:"ip-address"`
		} `json:"ip-addresses"`
	}
	if err := r.agentCommand(ctx, guest, "network-get-interfaces", &answer); err != nil {
		return nil, err
	}
	for _, one := range answer {
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

// agentCommand runs one command. The agent's own errors are returned with status 200 (PVE/API2/Qemu/Agent.pm,
// register_command).
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
