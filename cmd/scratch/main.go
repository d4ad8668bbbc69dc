package main

import (
	"context"
	"fmt"
	"os"

	"github.com/blang/semver"
	"github.com/em-infra/em-infra/internal/engine"
	"github.com/em-infra/em-infra/internal/workspace"
	"github.com/em-infra/em-infra/stacks"
	"github.com/pulumi/pulumi/sdk/v3/go/auto"
	"github.com/pulumi/pulumi/sdk/v3/go/auto/optpreview"
)

func main() {
	ctx := context.Background()
	w, err := workspace.Rehearsal("/work/main", "k3s-dev", "")
	if err != nil {
		panic(err)
	}
	if err := w.Prepare(); err != nil {
		panic(err)
	}
	env := w.Environment()
	env["PULUMI_HOME"] = "/tmp/w/home"
	s, err := auto.UpsertStackInlineSource(ctx, "k3s-dev", "em-infra", stacks.Program(stacks.Options{Root: "/work/main", Inventory: os.Args[1]}), auto.WorkDir(w.Dir), auto.PulumiHome("/tmp/w/home"), auto.EnvVars(env), auto.Pulumi(engine.NewCommand("/tmp/w/pulumi", semver.MustParse("3.254.0"))))
	fmt.Println(err)
	fmt.Println(s.SetConfig(ctx, "em-infra:proxmoxEndpoint", auto.ConfigValue{Value: "https://127.0.0.1:18006"}))
	fmt.Println(s.SetConfig(ctx, "em-infra:proxmoxToken", auto.ConfigValue{Value: "root@pam!x=12345678-1234-1234-1234-123456789012", Secret: true}))
	fmt.Println(s.SetConfig(ctx, "em-infra:labNetwork", auto.ConfigValue{Value: "127.20.20.0/24"}))
	r, err := s.Preview(ctx, optpreview.ProgressStreams(os.Stdout), optpreview.ErrorProgressStreams(os.Stderr))
	fmt.Println(r.ChangeSummary, err)
}
