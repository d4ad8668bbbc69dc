package components

import (
	"errors"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// EtcdBackup is a CronJob of talos-backup v0.1.0-beta.3 that stores encrypted snapshots of etcd in a bucket.
type EtcdBackup struct {
	// Schedule in the five fields of cron, in UTC. Required. A change is made in place.
	Schedule string
	// Image of talos-backup. Required. A change is made in place.
	Image string
	// Bucket is the name of the bucket, and Prefix the folder in it. Both are required. The snapshot of a cluster is
	// PREFIX/CLUSTER-TIME.snap.age. A change affects later snapshots only.
	Bucket, Prefix string
	// Region of the bucket. Required.
	Region string
	// Endpoint is the URL of the server. Default: AWS's own.
	Endpoint string
	// PathStyle is whether the bucket is in the path of a request, which needs an Endpoint. Default: false, it is in the host.
	PathStyle bool
	// Recipient is the age key, age1…, for which snapshots are encrypted. Required. A change affects later snapshots only.
	Recipient string
	// AccessKeyID and SecretAccessKey are the key of the bucket. Required, secret. A change is made in place.
	AccessKeyID, SecretAccessKey pulumi.StringInput
}

// EtcdBackupNamespace is the namespace of the CronJob. A user who may create pods in it can get snapshots of etcd, so nothing else is in it.
const EtcdBackupNamespace = "etcd-backup"

const (
	// etcdBackup names the CronJob.
	etcdBackup = "etcd-backup"
	// talosAccount names the account for the Talos API, and the Secret that Talos itself makes for it and refuses to take over from others
	// (talos v1.12.4, kubeaccess/serviceaccount/crd_controller.go, syncHandler).
	talosAccount = "etcd-backup-talos"
	// bucketSecret names the Secret with the key of the bucket, whose data are named as the variables that the client reads.
	bucketSecret = "etcd-backup-bucket"
	// backupRole is all that the account may do: take snapshots of etcd and see its members (talos v1.12.4, machinery/role, EtcdBackup).
	backupRole = "os:etcd:backup"
)

func (b *EtcdBackup) validate(cluster TalosClusterArgs) error {
	return errors.Join(
		require(cluster.SnapshotNamespace == EtcdBackupNamespace, "EtcdBackup", "give a cluster whose SnapshotNamespace is "+EtcdBackupNamespace),
		require(b.Schedule != "", "EtcdBackup.Schedule", "give the five fields of cron"),
		require(imageReference.MatchString(b.Image), "EtcdBackup.Image", "give a reference like registry.example/name:tag"),
		require(b.Bucket != "", "EtcdBackup.Bucket", "give the name of the bucket"),
		require(b.Prefix != "", "EtcdBackup.Prefix", "give the folder in the bucket"),
		require(b.Region != "", "EtcdBackup.Region", "give the region of the bucket"),
		require(!b.PathStyle || b.Endpoint != "", "EtcdBackup.PathStyle", "give it with an Endpoint only"),
		require(b.Recipient != "", "EtcdBackup.Recipient", "give the age key, age1…"),
		require(b.AccessKeyID != nil, "EtcdBackup.AccessKeyID", "give the key of the bucket"),
		require(b.SecretAccessKey != nil, "EtcdBackup.SecretAccessKey", "give the key of the bucket"))
}

// addEtcdBackup creates the account, for which Talos makes a Secret, the key of the bucket, and the CronJob that uses both.
func (c *ClusterAddons) addEtcdBackup(ctx *pulumi.Context) error {
	backup := c.args.EtcdBackup
	if backup == nil {
		return nil
	}
	there, err := c.namespace(ctx, EtcdBackupNamespace)
	if err != nil {
		return err
	}
	account, err := c.addObject(ctx, "etcd-backup-account", kindTalosAccount, EtcdBackupNamespace, talosAccount,
		pulumi.Map{"spec": pulumi.Map{"roles": pulumi.ToStringArray([]string{backupRole})}}, there)
	if err != nil {
		return err
	}
	key, err := c.addSecret(ctx, EtcdBackupNamespace, bucketSecret, opaque, map[string]pulumi.StringInput{
		"AWS_ACCESS_KEY_ID": backup.AccessKeyID, "AWS_SECRET_ACCESS_KEY": backup.SecretAccessKey,
	})
	if err != nil {
		return err
	}
	_, err = c.addObject(ctx, "etcd-backup", kindCronJob, EtcdBackupNamespace, etcdBackup,
		pulumi.Map{"spec": backup.cronJob(c.args.Cluster.args.ClusterName)}, pulumi.DependsOn([]pulumi.Resource{account, key}))
	return err
}

// backupDeadline ends a run that hangs, in seconds: with the policy Forbid it would keep all later ones away.
const backupDeadline = 30 * 60

// cronJob returns the specification of the CronJob. A failed run is repeated twice, in a new pod each time, so that the logs of each stay.
func (b EtcdBackup) cronJob(cluster string) pulumi.Map {
	return pulumi.Map{
		"schedule":                   pulumi.String(b.Schedule),
		"timeZone":                   pulumi.String("Etc/UTC"),
		"concurrencyPolicy":          pulumi.String("Forbid"),
		"successfulJobsHistoryLimit": pulumi.Int(1),
		"failedJobsHistoryLimit":     pulumi.Int(3),
		"jobTemplate": pulumi.Map{"spec": pulumi.Map{
			"activeDeadlineSeconds": pulumi.Int(backupDeadline),
			"backoffLimit":          pulumi.Int(2),
			"template":              pulumi.Map{"spec": b.pod(cluster)},
		}},
	}
}

// work is the folder in which talos-backup writes the snapshot, in clear and encrypted.
const work = "/tmp"

// talosSecrets is where the Talos client looks for the talosconfig of a pod (talos v1.12.4, machinery/constants, ServiceAccountMountPath).
const talosSecrets = "/var/run/secrets/talos.dev"

// pod returns the pod, which fits the Pod Security Standard restricted. It runs on control planes, which have all that is in a snapshot anyway: on
// a worker the snapshot would lie unencrypted.
func (b EtcdBackup) pod(cluster string) pulumi.Map {
	const controlPlane = "node-role.kubernetes.io/control-plane"
	return pulumi.Map{
		"restartPolicy":                pulumi.String("Never"),
		"automountServiceAccountToken": pulumi.Bool(false),
		"enableServiceLinks":           pulumi.Bool(false),
		"nodeSelector":                 pulumi.StringMap{controlPlane: pulumi.String("")},
		"tolerations": pulumi.MapArray{pulumi.Map{
			"key": pulumi.String(controlPlane), "operator": pulumi.String("Exists"), "effect": pulumi.String("NoSchedule"),
		}},
		"securityContext": pulumi.Map{
			"runAsNonRoot": pulumi.Bool(true), "runAsUser": pulumi.Int(1000), "runAsGroup": pulumi.Int(1000), "fsGroup": pulumi.Int(1000),
			"seccompProfile": pulumi.Map{"type": pulumi.String("RuntimeDefault")},
		},
		"containers": pulumi.MapArray{b.container(cluster)},
		"volumes": pulumi.MapArray{
			pulumi.Map{"name": pulumi.String("work"), "emptyDir": pulumi.Map{}},
			pulumi.Map{"name": pulumi.String("talos"), "secret": pulumi.Map{"secretName": pulumi.String(talosAccount)}},
		},
	}
}

func (b EtcdBackup) container(cluster string) pulumi.Map {
	return pulumi.Map{
		"name":            pulumi.String("talos-backup"),
		"image":           pulumi.String(b.Image),
		"imagePullPolicy": pulumi.String("IfNotPresent"),
		"workingDir":      pulumi.String(work),
		"env":             b.environment(cluster),
		"envFrom":         pulumi.MapArray{pulumi.Map{"secretRef": pulumi.Map{"name": pulumi.String(bucketSecret)}}},
		"resources": pulumi.Map{
			"requests": pulumi.StringMap{"cpu": pulumi.String("50m"), "memory": pulumi.String("128Mi")},
			"limits":   pulumi.StringMap{"memory": pulumi.String("512Mi")},
		},
		"securityContext": pulumi.Map{
			"allowPrivilegeEscalation": pulumi.Bool(false), "readOnlyRootFilesystem": pulumi.Bool(true),
			"capabilities": pulumi.Map{"drop": pulumi.ToStringArray([]string{"ALL"})},
		},
		"volumeMounts": pulumi.MapArray{
			pulumi.Map{"name": pulumi.String("work"), "mountPath": pulumi.String(work)},
			pulumi.Map{"name": pulumi.String("talos"), "mountPath": pulumi.String(talosSecrets), "readOnly": pulumi.Bool(true)},
		},
	}
}

// environment returns the settings that talos-backup v0.1.0-beta.3 reads (pkg/config/service.go). It puts the bucket into the path of
// requests if USE_PATH_STYLE is false, and into their host if it is anything else. HOME is where a client of Talos makes its folder.
func (b EtcdBackup) environment(cluster string) pulumi.MapArray {
	settings := map[string]string{
		"HOME": work, "CLUSTER_NAME": cluster, "BUCKET": b.Bucket, "S3_PREFIX": b.Prefix, "AWS_REGION": b.Region, "AGE_X25519_PUBLIC_KEY": b.Recipient,
	}
	if b.Endpoint != "" {
		settings["CUSTOM_S3_ENDPOINT"] = b.Endpoint
	}
	if b.PathStyle {
		settings["USE_PATH_STYLE"] = "false"
	}
	var variables pulumi.MapArray
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		variables = append(variables, pulumi.Map{"name": pulumi.String(name), "value": pulumi.String(settings[name])})
	}
	return variables
}
