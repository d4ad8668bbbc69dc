// Package newstack proposes the cluster of a new stack from what stands on its hosts and what a person answers, and writes its inventory. It
// asks no host and changes nothing; it is pure.
package newstack
