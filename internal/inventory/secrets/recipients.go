package secrets

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/getsops/sops/v3"
	"github.com/getsops/sops/v3/age"
	"github.com/getsops/sops/v3/keys"
)

// Errors of a change of recipients.
var (
	ErrNoAgeKey     = errors.New("is no public age key")
	ErrNotRecipient = errors.New("is not a recipient")
	ErrIsRecipient  = errors.New("is a recipient already")
	ErrLastKey      = errors.New("is the last key of yours")
	ErrOtherKeys    = errors.New("has keys of another kind than age")
)

// Recipient is a public age key that the file is encrypted for.
type Recipient struct {
	Key string `json:"key"`
	// Mine reports whether a key of this user opens it.
	Mine bool `json:"mine"`
}

// Recipients returns the age keys that the file is encrypted for, in its order.
func (d *Document) Recipients() []Recipient {
	var found []Recipient
	for _, sealed := range sealedKeys(d.tree.Metadata) {
		found = append(found, Recipient{Key: sealed.Recipient, Mine: d.opens(sealed)})
	}
	return found
}

// AddRecipient lets one more public age key open the file.
func (d *Document) AddRecipient(recipient string) error {
	recipient = strings.TrimSpace(recipient)
	if strings.HasPrefix(strings.ToUpper(recipient), "AGE-SECRET-KEY-") {
		return fmt.Errorf("the argument %w but the secret one: give what `age-keygen -y` prints for it, which begins with age1", ErrNoAgeKey)
	}
	sealed, err := age.MasterKeyFromRecipient(recipient)
	if err != nil {
		return fmt.Errorf("%q %w: give one that begins with age1, as `age-keygen -y` prints it", recipient, ErrNoAgeKey)
	}
	if slices.ContainsFunc(sealedKeys(d.tree.Metadata), func(k *age.MasterKey) bool { return k.Recipient == recipient }) {
		return fmt.Errorf("%s %w: nothing to do", recipient, ErrIsRecipient)
	}
	if len(d.tree.Metadata.KeyGroups) > 1 {
		return fmt.Errorf("%s %w: change them with `sops`", d.path, ErrSeveralGroups)
	}
	if err := sealed.Encrypt(d.key); err != nil {
		return fmt.Errorf("encrypt for %s: %w", recipient, err)
	}
	d.tree.Metadata.KeyGroups[0] = append(d.tree.Metadata.KeyGroups[0], sealed)
	return nil
}

// RemoveRecipient makes a new data key that the recipient does not get. The recipient may have kept what it could read, so the values must be changed
// where they come from.
func (d *Document) RemoveRecipient(recipient string) error {
	present := d.Recipients()
	at := slices.IndexFunc(present, func(r Recipient) bool { return r.Key == recipient })
	if at < 0 {
		return fmt.Errorf("%s %w of %s, which is encrypted for %s: name one of these", recipient, ErrNotRecipient, d.path, named(present))
	}
	left := slices.Delete(present, at, at+1)
	if !slices.ContainsFunc(left, func(r Recipient) bool { return r.Mine }) {
		return fmt.Errorf("%s %w that opens %s: first add another with `em-infra secrets recipients add`", recipient, ErrLastKey, d.path)
	}
	if err := d.onlyAge(); err != nil {
		return err
	}
	for i, group := range d.tree.Metadata.KeyGroups {
		d.tree.Metadata.KeyGroups[i] = slices.DeleteFunc(slices.Clone(group), func(key keys.MasterKey) bool { return key.ToString() == recipient })
	}
	return d.Rotate()
}

// Rotate makes a new data key and encrypts it for all recipients, so each value gets a new ciphertext.
func (d *Document) Rotate() error {
	if err := d.onlyAge(); err != nil {
		return err
	}
	if err := d.newDataKey(); err != nil {
		return err
	}
	for _, sealed := range sealedKeys(d.tree.Metadata) {
		if err := sealed.Encrypt(d.key); err != nil {
			return fmt.Errorf("encrypt for %s: %w", sealed.Recipient, err)
		}
	}
	return nil
}

// onlyAge refuses a file with keys of other kinds than age, or with several groups of keys: a new data key cannot be encrypted for them here.
func (d *Document) onlyAge() error {
	count := 0
	for _, group := range d.tree.Metadata.KeyGroups {
		count += len(sops.KeyGroup(group))
	}
	if count > len(sealedKeys(d.tree.Metadata)) || len(d.tree.Metadata.KeyGroups) > 1 {
		return fmt.Errorf("%s %w: use `sops rotate` there", d.path, ErrOtherKeys)
	}
	return nil
}

func named(recipients []Recipient) string {
	names := make([]string, len(recipients))
	for i, each := range recipients {
		names[i] = each.Key
	}
	return strings.Join(names, " and ")
}
