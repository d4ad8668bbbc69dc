// Package kubectlconfig puts the access to a cluster into a person's own kubeconfig, and takes it out again. What it has put there carries a mark,
// so that nothing else is ever changed or removed.
package kubectlconfig
