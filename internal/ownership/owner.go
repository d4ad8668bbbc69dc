// Package ownership identifies the stack and the cluster of a machine on a Proxmox VE host by a mark in its description. It is
// pure.
//
// Names, VMIDs and MAC addresses do not identify them: a copy of a stack has the same ones.
package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// Owner is a stack and the cluster in its state. Two stacks differ by name; two states of one stack, such as a lost state and
// its successor, differ by the cluster.
type Owner struct {
	// Stack is the name of the stack.
	Stack string
	// Cluster is the short form of the cluster's ID; "" if the state has no cluster yet, which then owns nothing.
	Cluster string
}

// shortLength is the number of hexadecimal digits of a cluster's short ID.
const shortLength = 12

// Short returns the short form of the ID that Talos gives a cluster with its machine secrets. It exists as long as the cluster:
// in the secrets, in each backup of them, and in the configuration of each node. The ID itself gives access to the discovery
// service, so it is not shown.
func Short(talosClusterID string) string {
	sum := sha256.Sum256([]byte(talosClusterID))
	return hex.EncodeToString(sum[:])[:shortLength]
}

// String returns the owner for a sentence.
func (o Owner) String() string { return fmt.Sprintf("stack %s, cluster %s", o.Stack, o.Cluster) }

// Mark returns the text in the description of each machine of the owner.
func (o Owner) Mark() string { return "made by em-infra for " + o.String() }

var mark = regexp.MustCompile(fmt.Sprintf(`made by em-infra for stack (\S+), cluster ([0-9a-f]{%d})\b`, shortLength))

// In returns the owner that a description names. isMarked is false if it names none: em-infra did not create the machine, the
// description was edited, or a release of em-infra without marks created it.
func In(description string) (owner Owner, isMarked bool) {
	match := mark.FindStringSubmatch(description)
	if match == nil {
		return Owner{}, false
	}
	return Owner{Stack: match[1], Cluster: match[2]}, true
}

// SystemMark is the description of a machine or container of a stack of systems, which has no cluster.
func SystemMark(stack string) string { return "Made by em-infra for stack " + stack + "." }

var systemMark = regexp.MustCompile(`^Made by em-infra for stack (\S+)\.\n?$`) // Proxmox VE may end it with a line feed

// StackOfSystem returns the stack of systems whose mark is the whole description; "" for any other description.
func StackOfSystem(description string) string {
	match := systemMark.FindStringSubmatch(description)
	if match == nil {
		return ""
	}
	return match[1]
}
