package main

import (
	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/inventory"
	"github.com/em-infra/em-infra/internal/lab/command"
)

// labPlace finds a lab by the stack that is rehearsed on it.
type labPlace struct{ stackFlags }

var _ command.Place = (*labPlace)(nil)

func newLabPlace() command.Place { return &labPlace{stackFlags{lab: true}} }

// Bind implements [command.Place].
func (p *labPlace) Bind(c *cobra.Command) {
	p.bindPlace(c)
	switch c.Name() {
	case "unlock", "reset", "destroy":
		c.ValidArgsFunction = onlyFirst(p.completeGuests)
	case "set":
		c.ValidArgsFunction = onlyFirst(completeFaultKinds)
		completeFlag(c, "node", p.completeHosts)
		completeFlag(c, "vm", p.completeGuests)
	case "clear":
		c.ValidArgsFunction = onlyFirst(p.completeSetFaults)
	}
}

// Dir implements [command.Place].
func (p *labPlace) Dir() (string, error) {
	w, err := p.workspace()
	if err != nil {
		return "", err
	}
	return w.Lab, nil
}

// VMID implements [command.Place]: VMs are named like the nodes of the inventory, or its systems. A stack of hosts names none.
func (p *labPlace) VMID(vm string) (int, error) {
	o, err := p.open(streams{})
	if err != nil {
		return 0, err
	}
	content, err := o.Content()
	if err != nil || vm == "" {
		return 0, err
	}
	if all, hasGuests := content.(guests); hasGuests {
		return all.FindVMID(vm)
	}
	return inventory.FindVMID(vm, "machine", nil, nil)
}

// Lab implements [command.Place].
func (p *labPlace) Lab() string { return "the lab of " + p.stack }

// Place implements [command.Place].
func (p *labPlace) Place() string { return " --stack " + p.stack }

// Typed implements [command.Place].
func (p *labPlace) Typed(words string) string { return typed("lab %s", words) }

// Words implements [command.Place].
func (p *labPlace) Words() command.Words {
	return command.Words{
		Program: toolName + " lab", Usage: " --stack STACK", Example: " --stack k3s-dev", VM: "k3s-dev-worker-1",
		AboutVM: "only for this VM: a node's `name`, or a VMID", List: toolName + " status --lab",
	}
}
