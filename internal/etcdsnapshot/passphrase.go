package etcdsnapshot

import "filippo.io/age"

// workFactor of scrypt, as a power of 2. A key takes 64 MiB and a fifth of a second; Pulumi takes as long for the key of a stack's secrets. age's
// default takes four times as much of both, in each run that changes a control plane.
const workFactor = 16

// WithPassphrase returns the recipient of snapshots that a passphrase opens, as in `age --decrypt`.
func WithPassphrase(passphrase string) (age.Recipient, error) {
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return nil, err
	}
	recipient.SetWorkFactor(workFactor)
	return recipient, nil
}

// OpenedByPassphrase returns the identity that opens the snapshots of [WithPassphrase].
func OpenedByPassphrase(passphrase string) (age.Identity, error) {
	return age.NewScryptIdentity(passphrase)
}
