package inventory

import "github.com/em-infra/em-infra/internal/inventory/strictyaml"

// checker collects what is wrong with an inventory. A rule skips what has no value: it was reported when the file was
// decoded.
type checker struct {
	inv                    *Inventory
	clusterFile, nodesFile string
	problems               Problems
}

func (c *checker) add(file string, finding strictyaml.Finding) {
	c.problems = append(c.problems, Problem{File: file, Finding: finding})
}

// cluster notes a problem in cluster.yaml.
func (c *checker) cluster(at *strictyaml.Path, fault strictyaml.Fault) {
	c.at(c.clusterFile, c.inv.clusterSource, at, fault)
}

// nodes notes a problem in nodes.yaml.
func (c *checker) nodes(at *strictyaml.Path, fault strictyaml.Fault) {
	c.at(c.nodesFile, c.inv.nodesSource, at, fault)
}

func (c *checker) at(file string, source *strictyaml.Document, at *strictyaml.Path, fault strictyaml.Fault) {
	finding := strictyaml.Finding{Path: at.String(), Fault: fault}
	finding.Line, finding.Column = source.Position(at)
	c.add(file, finding)
}

// rules are all that is checked once the two files are decoded and complete.
func (c *checker) rules() {
	c.endpoint()
}

func (c *checker) endpoint() {
	endpoint := c.inv.Cluster.Kubernetes.Endpoint
	var root *strictyaml.Path
	at := root.Key("kubernetes").Key("endpoint")
	if endpoint.VIP.IsValid() == (endpoint.Host != "") && c.inv.clusterSource != nil {
		c.cluster(at, strictyaml.Fault{What: "needs a vip or a host", Rule: "exactly one of the two", Do: "give one of them"})
	}
}
