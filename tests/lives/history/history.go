// Package history describes the events of a cluster, move by move: as text that can be stored, and drawn from a seed.
package history

import (
	"bufio"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/tests/lives/site"
)

// Verb is the kind of a move.
type Verb string

// The verbs of moves.
const (
	// Edit changes the inventory; a later run applies it.
	Edit Verb = "edit"
	// Mistake is an edit that must be refused: up is run with it, and the inventory is put back.
	Mistake Verb = "mistake"
	// Run runs em-infra or pulumi.
	Run Verb = "run"
	// Fault makes a failure of the lab occur in the next run, once.
	Fault Verb = "fault"
	// Kill kills a process at a call of the next run.
	Kill Verb = "kill"
	// Hand does something behind em-infra's back.
	Hand Verb = "hand"
)

// Move is one step of a history.
type Move struct {
	Verb Verb
	// What is done, by the verb.
	What string
	// Node is the name of its node; "" if it has none.
	Node string
	// Number is its number, if it has one: the value of an edit, the occasion of a fault, the call of a kill.
	Number int
}

// form is the text form of moves of a verb.
type form struct{ ofNode, numbered bool }

// Runs are the names of the runs of em-infra and of pulumi. Before an adoption, the state is lost.
var Runs = []string{"up", "preview", "status", "drift", "pulumi", "until-provision", "until-bootstrap", "only-verify", "only-bootstrap", "destroy", "restore-oldest", "snapshot-etcd", "restore-etcd", "adopt"}

// Victims are the targets of a kill: SIGKILL, or SIGINT for the last two.
var Victims = []string{"tool", "engine", "plugin", "all", "host", "interrupt", "interrupt-twice"}

// Faults are the faults of the lab in lives: those that end quickly in every case.
var Faults = []string{
	"config-lock-timeout", "template-missing", "no-worker", "task-lost", "unauthorized", "forbidden", "unreachable", "answer-lost",
	"host-reboots", "storage-lock-timeout", "storage-full", "clone-fails", "lock-lingers", "status-lags", "start-fails",
	"download-fails", "certificate-withheld", "api-server-late", "talos-api-unavailable", "factory-unavailable",
	"pull-slow", "image-refused", "registry-unreachable", "pull-without-room", "ephemeral-full", "etcd-upgrade-locked", "upgrade-fails", "upgrade-reverted", "events-lost",
}

// Hands are what people do to nodes.
var Hands = map[string]bool{ // whether a number is needed
	"stop": false, "start": false, "delete": false, "rename": false, "memory": true, "tags": false, "patch": true,
	"delete-node": false, "cordon": false, "onboot": false, "migrate": true, "unplug": false,
}

// formOf returns the form of a move; false if there is none of that name.
func formOf(verb Verb, what string) (form, bool) {
	if f, known := formOfLayers(verb, what); known {
		return f, true
	}
	switch verb {
	case Edit:
		change, known := site.Edits[what]
		return form{change.OfNode, change.Numbered}, known
	case Mistake:
		_, known := site.Mistakes[what]
		return form{}, known
	case Run:
		return form{}, slices.Contains(Runs, what)
	case Fault:
		return form{numbered: true}, slices.Contains(Faults, what)
	case Kill:
		return form{numbered: true}, slices.Contains(Victims, what)
	case Hand:
		numbered, known := Hands[what]
		return form{true, numbered}, known
	}
	return form{}, false
}

// String returns the move as a line.
func (m Move) String() string {
	words := []string{string(m.Verb), m.What}
	f, _ := formOf(m.Verb, m.What)
	if f.ofNode {
		words = append(words, m.Node)
	}
	if f.numbered {
		words = append(words, strconv.Itoa(m.Number))
	}
	return strings.Join(words, " ")
}

// ParseMove reads a line.
func ParseMove(line string) (Move, error) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return Move{}, fmt.Errorf("%q is no move: write a verb and what it does", line)
	}
	m := Move{Verb: Verb(words[0]), What: words[1]}
	f, known := formOf(m.Verb, m.What)
	if !known {
		return m, fmt.Errorf("%q is no move", line)
	}
	rest := words[2:]
	if f.ofNode && len(rest) > 0 {
		m.Node, rest = rest[0], rest[1:]
	}
	if f.numbered && len(rest) > 0 {
		number, err := strconv.Atoi(rest[0])
		if err != nil {
			return m, fmt.Errorf("%q: %q is no number", line, rest[0])
		}
		m.Number, rest = number, rest[1:]
	}
	if m.String() != strings.Join(words, " ") || len(rest) > 0 {
		return m, fmt.Errorf("%q does not read like %q", line, m)
	}
	return m, nil
}

// History is the birth of a cluster, and the moves since.
type History struct {
	Topology site.Topology
	Moves    []Move
}

// String returns the history as [Parse] reads it.
func (h History) String() string {
	lines := []string{"topology " + h.Topology.String()}
	for _, m := range h.Moves {
		lines = append(lines, m.String())
	}
	return strings.Join(lines, "\n") + "\n"
}

// Parse reads a history: a line with the topology, then one for each move. Empty lines, and what follows a #, are left out.
func Parse(text string) (History, error) {
	var h History
	born := false
	for lines := bufio.NewScanner(strings.NewReader(text)); lines.Scan(); {
		line, _, _ := strings.Cut(lines.Text(), "#")
		line = strings.TrimSpace(line)
		words, isTopology := strings.CutPrefix(line, "topology")
		var err error
		switch {
		case line == "":
		case isTopology && !born:
			born = true
			h.Topology, err = site.ParseTopology(words)
		case !born:
			err = fmt.Errorf("%q stands before the topology", line)
		default:
			var m Move
			m, err = ParseMove(line)
			h.Moves = append(h.Moves, m)
		}
		if err != nil {
			return h, err
		}
	}
	if !born {
		return h, fmt.Errorf("there is no topology")
	}
	return h, nil
}
