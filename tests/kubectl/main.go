// Command kubectl is kubectl as it is, built from its module. It is a module of its own, since nothing else needs what
// kubectl brings along. Where both modules need another one, its version is that of the root's, so that it is compiled once.
package main

import (
	"k8s.io/component-base/cli"
	"k8s.io/kubectl/pkg/cmd"
	"k8s.io/kubectl/pkg/cmd/util"
)

func main() {
	if err := cli.RunNoErrOutput(cmd.NewDefaultKubectlCommand()); err != nil {
		util.CheckErr(err)
	}
}
