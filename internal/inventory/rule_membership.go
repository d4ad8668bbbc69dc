package inventory

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// maxControlPlanes is 5: etcd gets slower with each member, and five survive two failures.
const maxControlPlanes = 5

// controlPlanes checks that etcd can have a quorum: an even number of members survives no more failures than one less.
func (c *checker) controlPlanes() {
	for _, node := range c.inv.Nodes {
		if node.Role == "" {
			return
		}
	}
	count := len(c.inv.Nodes.ControlPlanes())
	if len(c.inv.Nodes) == 0 || count%2 == 1 && count <= maxControlPlanes {
		return
	}
	problem := fault{What: "has an even number of control planes", Rule: "1, 3 or 5", Got: strconv.Itoa(count), Do: "add or remove one"}
	switch {
	case count == 0:
		problem.What, problem.Do = "has no control plane", "add a node with the role control-plane"
	case count > maxControlPlanes:
		problem.What, problem.Do = "has too many control planes", "make some of them workers"
	}
	c.node(key("nodes"), problem)
}

// membership checks the labels and taints with which a node registers.
func (c *checker) membership(node Node, path *strictyaml.Path) {
	for _, label := range sortedKeys(node.Labels) {
		at := path.Key("labels").Key(label)
		if c.qualifiedName(label, at) {
			c.restriction(label, node.Role, at)
		}
		c.labelValue(node.Labels[label], at)
	}
	for _, taint := range sortedKeys(node.Taints) {
		at := path.Key("taints").Key(taint)
		c.qualifiedName(taint, at)
		c.labelValue(node.Taints[taint].Value, at)
	}
}

// qualifiedName checks the key of a label or a taint with Kubernetes' own code.
func (c *checker) qualifiedName(name string, at *strictyaml.Path) bool {
	problems := validation.IsQualifiedName(name)
	if len(problems) > 0 {
		c.node(at, fault{What: "is not the key of a label or taint", Rule: brief(problems), Got: name, Do: "choose another key"})
	}
	return len(problems) == 0
}

// labelValue checks the value of a label or a taint with Kubernetes' own code.
func (c *checker) labelValue(value string, at *strictyaml.Path) {
	if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
		c.node(at, fault{What: "has a value that Kubernetes refuses", Rule: brief(problems), Got: value, Do: "choose another value"})
	}
}

// brief returns the first of Kubernetes' messages without its examples and its regular expression.
func brief(problems []string) string {
	text, _, _ := strings.Cut(problems[0], " (e.g.")
	return text
}

// restriction checks that a worker may set the label itself. Talos labels a worker with the kubelet's own credentials
// (NodeApplyController), to which the admission plugin NodeRestriction forbids Kubernetes' own prefixes except those that the
// kubelet sets by itself (plugin/pkg/admission/noderestriction, k8s.io/kubelet/pkg/apis/well_known_labels.go).
func (c *checker) restriction(label string, role Role, at *strictyaml.Path) {
	prefix, _, qualified := strings.Cut(label, "/")
	if !qualified || role == RoleControlPlane || role == "" || isKubeletLabel(label) {
		return
	}
	own := within(prefix, "kubernetes.io") || within(prefix, "k8s.io")
	free := within(prefix, "kubelet.kubernetes.io") || within(prefix, "node.kubernetes.io")
	if own && !free {
		c.node(at, fault{
			What: "is a label that a worker may not give itself", Rule: "NodeRestriction keeps " + prefix + "/ for the cluster",
			Got: label, Do: fmt.Sprintf("choose a prefix of your own, or node.kubernetes.io/, or label %s with kubectl", at.Parent().Parent()),
		})
	}
}

// isKubeletLabel reports whether a kubelet may set the label although its prefix is one of Kubernetes' own.
func isKubeletLabel(label string) bool {
	switch label {
	case "kubernetes.io/hostname", "kubernetes.io/os", "kubernetes.io/arch",
		"beta.kubernetes.io/os", "beta.kubernetes.io/arch", "beta.kubernetes.io/instance-type",
		"topology.kubernetes.io/zone", "topology.kubernetes.io/region",
		"failure-domain.beta.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/region":
		return true
	default:
		return false
	}
}

// within reports whether a DNS name equals a domain or is below it.
func within(name, domain string) bool { return name == domain || strings.HasSuffix(name, "."+domain) }
