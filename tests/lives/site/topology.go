// Package site is what a life has written into its inventory: the topology that it began with, and the edits since. It renders the
// two files, and shares no code with what reads them.
package site

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Topology is the shape of a cluster at its birth.
type Topology struct {
	ControlPlanes, Workers, GPUWorkers int
	// Hosts are how many Proxmox VE nodes the machines are spread over.
	Hosts int
	// Shared has the hosts share one template; else each has its own.
	Shared bool
	// DataDisks gives each worker a data disk, and SecondCards another network card.
	DataDisks, SecondCards bool
	DualStack              bool
	// Addons installs a chart from disk.
	Addons bool
	// Layers adds a stack of hosts, a stack of systems, and storage on a NAS. Only such a site may have no cluster.
	Layers bool
}

// numbers and switches are the words of a topology, in the order in which they are printed.
func (t *Topology) numbers() []named[*int] {
	return []named[*int]{
		{"control-planes", &t.ControlPlanes}, {"workers", &t.Workers}, {"gpu-workers", &t.GPUWorkers}, {"hosts", &t.Hosts},
	}
}

func (t *Topology) switches() []named[*bool] {
	return []named[*bool]{
		{"shared-template", &t.Shared}, {"data-disks", &t.DataDisks}, {"second-cards", &t.SecondCards},
		{"dual-stack", &t.DualStack}, {"addons", &t.Addons}, {"layers", &t.Layers},
	}
}

type named[T any] struct {
	name  string
	value T
}

// String returns the topology as [ParseTopology] reads it.
func (t Topology) String() string {
	var words []string
	for _, n := range t.numbers() {
		words = append(words, fmt.Sprintf("%s=%d", n.name, *n.value))
	}
	for _, s := range t.switches() {
		if *s.value {
			words = append(words, s.name)
		}
	}
	return strings.Join(words, " ")
}

// ParseTopology reads the words of a topology. A number that is not given is 0, but for one control plane on one host.
func ParseTopology(text string) (Topology, error) {
	t := Topology{ControlPlanes: 1, Hosts: 1}
	for _, word := range strings.Fields(text) {
		if err := t.set(word); err != nil {
			return t, err
		}
	}
	switch {
	case t.ControlPlanes == 0 && t.Layers && t.Workers+t.GPUWorkers == 0 && t.Hosts == 1:
	case t.Layers && t.Hosts > 1:
		return t, fmt.Errorf("layers: choose hosts=1")
	case !slices.Contains([]int{1, 3, 5}, t.ControlPlanes):
		return t, fmt.Errorf("control-planes=%d: choose 1, 3 or 5", t.ControlPlanes)
	case t.Hosts < 1 || t.Hosts > 3:
		return t, fmt.Errorf("hosts=%d: choose 1 to 3", t.Hosts)
	}
	return t, nil
}

func (t *Topology) set(word string) error {
	name, text, isNumber := strings.Cut(word, "=")
	for _, n := range t.numbers() {
		if isNumber && n.name == name {
			number, err := strconv.Atoi(text)
			if err != nil || number < 0 {
				return fmt.Errorf("%s: %q is no number", name, text)
			}
			*n.value = number
			return nil
		}
	}
	for _, s := range t.switches() {
		if !isNumber && s.name == name {
			*s.value = true
			return nil
		}
	}
	return fmt.Errorf("%q is no word of a topology", word)
}
