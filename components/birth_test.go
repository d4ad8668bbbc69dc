package components_test

import (
	"testing"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
	pulumirpc "github.com/pulumi/pulumi/sdk/v3/proto/go"
	"github.com/stretchr/testify/require"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/recorder"
)

const (
	typeMachine       = "proxmoxve:VM/virtualMachine:VirtualMachine"
	typeConfiguration = "talos:machine/configurationApply:ConfigurationApply"
	newMark           = "11111111-1111-4111-8111-111111111111"
	formerMark        = "22222222-2222-4222-8222-222222222222"
)

// marked returns a cluster of one control plane and one worker whose new machines have a birth identifier.
func marked(args func(*components.TalosClusterArgs)) program {
	return func(ctx *pulumi.Context, providers pulumi.ResourceOption) error {
		template, err := components.NewTalosTemplate(ctx, "template", templateFixture("vmhost"), providers)
		if err != nil {
			return err
		}
		cluster := clusterFixture("k3s-dev",
			machineFixture("k3s-dev-control-1", components.RoleControlPlane, 11),
			machineFixture("k3s-dev-worker-1", components.RoleWorker, 21))
		cluster.Templates, cluster.NewBirth = []*components.TalosTemplate{template}, func() string { return newMark }
		if args != nil {
			args(cluster)
		}
		_, err = components.NewTalosCluster(ctx, "k3s-dev", cluster, providers)
		return err
	}
}

// standing mocks machines that were created before this run, with another birth identifier or without one.
type standing struct {
	*recorder.Recorder
	mark string
}

func (s standing) NewResource(args pulumi.MockResourceArgs) (string, resource.PropertyMap, error) {
	id, outputs, err := s.Recorder.NewResource(args)
	if args.TypeToken == typeMachine {
		delete(outputs, "smbios")
		if s.mark != "" {
			outputs["smbios"] = resource.NewProperty(resource.PropertyMap{"uuid": resource.NewProperty(s.mark)})
		}
	}
	return id, outputs, err
}

func configurationOf(t *testing.T, r *recorder.Recorder, node string) string {
	t.Helper()
	input := r.Named(t, typeConfiguration, node+"-configuration").Inputs["machineConfigurationInput"]
	require.True(t, input.IsSecret())
	require.True(t, input.SecretValue().Element.IsString(), "it is known")
	return input.SecretValue().Element.StringValue()
}

func TestANewMachineHasAMarkAndItsConfigurationCarriesIt(t *testing.T) {
	t.Parallel()
	for _, preview := range []bool{false, true} {
		r, err := run(t, preview, marked(nil))
		require.NoError(t, err)
		for _, node := range []string{"k3s-dev-control-1", "k3s-dev-worker-1"} {
			machine := r.Named(t, typeMachine, node+"-vm")
			require.Equal(t, newMark, machine.Inputs["smbios"].ObjectValue()["uuid"].StringValue())
			require.Contains(t, machine.RegisterRPC.GetIgnoreChanges(), "smbios", "a machine that is there keeps its mark")
			require.Equal(t, "machine configuration\n# Made for the machine with the UUID "+newMark+"\n", configurationOf(t, r, node))
		}
	}
}

// Machines from before birth identifiers have none: neither an update nor a preview may treat that as a change.
func TestTheConfigurationCarriesTheMarkOfTheMachineThatIsThere(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ name, mark, configuration string }{
		{"another mark", formerMark, "machine configuration\n# Made for the machine with the UUID " + formerMark + "\n"},
		{"none", "", "machine configuration"},
	} {
		for _, preview := range []bool{false, true} {
			r := &recorder.Recorder{Resources: map[string]pulumi.MockResourceArgs{}}
			err := pulumi.RunErr(func(ctx *pulumi.Context) error {
				providers, err := providers(ctx)
				if err != nil {
					return err
				}
				return marked(nil)(ctx, providers)
			}, pulumi.WithMocks(recorder.Project, recorder.Stack, standing{r, test.mark}), func(info *pulumi.RunInfo) { info.DryRun = preview })
			require.NoError(t, err)
			require.Equal(t, test.configuration, configurationOf(t, r, "k3s-dev-worker-1"), test.name)
		}
	}
}

func TestAMarkIsAUUID(t *testing.T) {
	t.Parallel()
	_, err := run(t, false, marked(func(args *components.TalosClusterArgs) { args.NewBirth = func() string { return "first" } }))
	require.ErrorContains(t, err, `Birth: "first" is no UUID: give a random one`)
}

// loss calls the hook that checks whether the only control plane was lost, and returns its refusal.
func (e *hookEngine) loss(t *testing.T, kind, before, after string) string {
	t.Helper()
	return e.birth(t, "k3s-dev-control-1-loss", kind, before, after)
}

// birth calls the hook before the update of a configuration whose machine may be another one, and returns its refusal.
func (e *hookEngine) birth(t *testing.T, hook, kind, before, after string) string {
	t.Helper()
	return e.birthWith(t, hook, kind, "machine configuration", before, after)
}

// birthWith is birth with a machine configuration of its own.
func (e *hookEngine) birthWith(t *testing.T, hook, kind, configuration, before, after string) string {
	t.Helper()
	inputs := func(mark string) resource.PropertyMap {
		text := configuration
		if mark != "" {
			text += "\n# Made for the machine with the UUID " + mark + "\n"
		}
		return resource.PropertyMap{"machineConfigurationInput": resource.MakeSecret(resource.NewProperty(text))}
	}
	marshal := plugin.MarshalOptions{KeepSecrets: true}
	former, err := plugin.MarshalProperties(inputs(before), marshal)
	require.NoError(t, err)
	now, err := plugin.MarshalProperties(inputs(after), marshal)
	require.NoError(t, err)
	var answer pulumirpc.ResourceHookResponse
	e.call(t, hook, &pulumirpc.ResourceHookRequest{Name: "k3s-dev-control-1", Type: kind, OldInputs: former, NewInputs: now}, &answer)
	return answer.GetError()
}

func TestTheOnlyControlPlaneIsNotMadeAnewUnasked(t *testing.T) {
	t.Parallel()
	refusal := "the machine of k3s-dev-control-1 was deleted on the host, and no other control plane has the data of etcd: the cluster is lost with it; " +
		"bring etcd back from a snapshot with `em-infra etcd restore`, restore its VM from a backup, or make the cluster anew with `em-infra up --allow-replace k3s-dev-control-1`"
	e := runHooked(t, marked(nil))
	require.Equal(t, refusal, e.loss(t, typeConfiguration, formerMark, newMark))
	require.Equal(t, refusal, e.loss(t, typeConfiguration, "", newMark), "the one before was made without a mark")
	require.Empty(t, e.loss(t, typeConfiguration, newMark, newMark), "another configuration for the same machine")
	require.Equal(t, refusal, e.loss(t, typeConfiguration, "none", ""), "the state knows that a machine without a mark has lost it")
	require.Empty(t, e.loss(t, typeMachine, "", ""), "a machine that is changed in place")

	e = runHooked(t, marked(func(args *components.TalosClusterArgs) { args.AllowReplace = []string{"k3s-dev-control-1"} }))
	require.Empty(t, e.loss(t, typeConfiguration, formerMark, newMark))
	require.Equal(t, []string{"k3s-dev-revive"}, e.bound["k3s-dev-bootstrap"].GetAfterCreate(), "workers register in the new cluster")
}
