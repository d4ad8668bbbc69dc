// Package ownership identifies the stack and the cluster of a machine on a Proxmox VE host by a mark in its description. It is
// pure.
//
// Names, VMIDs and MAC addresses do not say that: a copy of a stack has the same ones.
package ownership

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
)

// Owner is a stack and the cluster that its state knows. Two stacks differ by name; two states of one stack, such as one that
// was lost and the one that was begun after it, differ by the cluster.
type Owner struct {
	// Stack is the name of the stack.
	Stack string
	// Cluster is the short form of the cluster's ID; "" where the state has no cluster yet, which then owns nothing.
	Cluster string
}

// shortLength is the number of hexadecimal digits of a cluster's short ID.
const shortLength = 12

// Short returns the short form of the ID that Talos gives a cluster with its machine secrets. It lasts as long as anything of
// the cluster does: it is in the secrets, in each backup of them, and in the configuration of each node. The ID itself is known
// to whoever is let into the discovery service, so it is not shown.
func Short(talosClusterID string) string {
	sum := sha256.Sum256([]byte(talosClusterID))
	return hex.EncodeToString(sum[:])[:shortLength]
}

// String returns the owner as a sentence names it.
func (o Owner) String() string { return fmt.Sprintf("stack %s, cluster %s", o.Stack, o.Cluster) }

// Mark returns what the description of each machine of the owner contains.
func (o Owner) Mark() string { return "made by em-infra for " + o.String() }

var mark = regexp.MustCompile(fmt.Sprintf(`made by em-infra for stack (\S+), cluster ([0-9a-f]{%d})\b`, shortLength))

// In returns the owner that a description names. isMarked is false if it names none: em-infra did not create the machine,
// somebody has edited the description, or a release of em-infra without marks created it.
func In(description string) (owner Owner, isMarked bool) {
	match := mark.FindStringSubmatch(description)
	if match == nil {
		return Owner{}, false
	}
	return Owner{Stack: match[1], Cluster: match[2]}, true
}
