package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/em-infra/em-infra/internal/nodeops"
	"github.com/em-infra/em-infra/operator"
)

func newRotateEncryptionKeyCommand() *cobra.Command {
	return keyRotation{
		what: "encryption-key", example: "  em-infra rotate encryption-key --stack k3s-dev --dry-run", short: "Replace the key with which Secrets are sealed in etcd",
		long: `Replace a key of aescbc, with which Secrets are sealed in etcd, by one of secretbox. Clusters that were created with Talos 1.2 or
before have such a key. First all control planes get both keys, then all Secrets are written anew. The former key is removed when a
snapshot of etcd shows that it seals none of them any more.

A key of secretbox is not replaced: Talos up to 1.13 gives an API server only one at a time, so after a change it could read no Secret.`,
		result: "the Secrets of stack %s are sealed with a new key of secretbox\n",
		steps:  operator.EncryptionKeyRotation, cost: operator.EncryptionKeyCost,
		rotate: (*operator.Operator).RotateEncryptionKey,
	}.command()
}

func newRotateServiceAccountKeyCommand() *cobra.Command {
	return keyRotation{
		what: "service-account-key", example: "  em-infra rotate service-account-key --stack k3s-dev --dry-run", short: "Replace the key that signs the tokens of service accounts",
		long: `Replace the key that signs the tokens of service accounts. Use it when that key or a token without an end leaked: nothing else revokes
a token before its end.

This is an interruption for everything that talks to the Kubernetes API from a pod: all former tokens are refused at once. The
kubelets get new ones for their pods, and the pods of kube-system and of the addons are restarted. Restart yours that do not read
their token again; the command says in which namespaces there are any.`,
		result: "the service accounts of stack %s have a new key: tokens that were made before are refused\n",
		steps:  operator.ServiceAccountKeyRotation, cost: operator.ServiceAccountKeyCost,
		rotate: (*operator.Operator).RotateServiceAccountKey,
	}.command()
}

func newRotateJoinTokensCommand() *cobra.Command {
	return keyRotation{
		what: "join-tokens", example: "  em-infra rotate join-tokens --stack k3s-dev --dry-run", short: "Replace the tokens with which nodes join",
		long: `Replace machine.token and cluster.token, with which machines join the cluster. Use it when a machine configuration of a worker leaked.
cluster.id and cluster.secret, by which nodes find each other, stay.

Every node is drained and reboots, one after the other, control planes first: Talos takes another machine.token at a boot only. With
` + nodeops.OverrideVariable + `=yes, pods that are still held back after --drain-timeout are deleted.`,
		result: "the tokens of stack %s are replaced: nothing joins with the former ones any more\n",
		steps:  operator.JoinTokensRotation, cost: operator.JoinTokensCost, drains: true,
		rotate: (*operator.Operator).RotateJoinTokens,
	}.command()
}

// keyRotation is the command that replaces a key or a token of the machine secrets.
type keyRotation struct {
	what, short, long string
	example           string
	result            string // with the name of the stack
	steps             []string
	cost              string
	drains            bool
	rotate            func(*operator.Operator, context.Context, operator.RotationOptions) error
}

func (k keyRotation) command() *cobra.Command {
	var (
		flags    stackFlags
		options  operator.RotationOptions
		isDryRun bool
	)
	command := &cobra.Command{
		Use:   k.what + " --stack STACK",
		Short: k.short,
		Long: k.long + `

If the command is killed, run it again: it goes on with the same new secrets. Until then other commands refuse the stack.`,
		Example: k.example,
		RunE: func(command *cobra.Command, _ []string) error {
			streams := streamsOf(command)
			if isDryRun {
				return printStepsAt(streams.out, k.steps, k.cost)
			}
			o, err := flags.open(streams)
			if err != nil {
				return err
			}
			if err := k.rotate(o, command.Context(), options); err != nil {
				return err
			}
			fmt.Fprintf(streams.out, "\n"+k.result, o.Workspace().Stack)
			fmt.Fprintf(streams.out, "next: %s   # a new kit, with the new secrets\n", typed("kit create %s", o.Place()))
			return nil
		},
	}
	flags.bindPlace(command)
	flags.bindLab(command)
	flags.bindYes(command)
	command.Flags().BoolVar(&isDryRun, "dry-run", false, "print the steps and change nothing")
	bindWithout(command, &flags, &options)
	if k.drains {
		options.DeleteHeldBack = os.Getenv(nodeops.OverrideVariable) == "yes"
		command.Flags().DurationVar(&options.DrainTimeout, "drain-timeout", 10*time.Minute, "how long PodDisruptionBudgets may hold pods back")
	}
	return command
}
