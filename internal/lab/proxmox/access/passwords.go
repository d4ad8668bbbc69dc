package access

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"time"
)

// passwordRounds make a guess at a password of the lab cost what one at a real host's does, about.
const passwordRounds = 4096

// SetPassword gives a user a password, of which only a hash is kept.
func (u *User) SetPassword(name, password string) error {
	hash, err := hashPassword(name, password)
	if err != nil {
		return err
	}

	u.Password = hash

	return nil
}

// Open gives an account a password, and makes it if it is not there.
func (d *Database) Open(name, password string) error {
	user, ok := d.Users[name]
	if !ok {
		user = &User{Enabled: true, Tokens: map[string]*Token{}}
		d.Users[name] = user
	}

	return user.SetPassword(name, password)
}

// Enter authenticates a user by their password (AccessControl.pm, authenticate_user). Its errors wrap ErrAuthentication.
func (d *Database) Enter(name, password string, now time.Time) error {
	user, err := d.enabledUser(name, now)
	if err != nil {
		return err
	}

	hash, err := hashPassword(name, password)
	if err != nil {
		return err
	}

	if user.Password == "" || subtle.ConstantTimeCompare([]byte(user.Password), []byte(hash)) != 1 {
		return fmt.Errorf("%w: invalid credentials", ErrAuthentication)
	}

	return nil
}

// CheckEnabled refuses users that are missing, disabled or expired (AccessControl.pm, check_user_enabled).
func (d *Database) CheckEnabled(name string, now time.Time) error {
	_, err := d.enabledUser(name, now)
	return err
}

func (d *Database) enabledUser(name string, now time.Time) (*User, error) {
	user, ok := d.Users[name]

	switch {
	case !ok:
		return nil, fmt.Errorf("%w: no such user ('%s')", ErrAuthentication, name)
	case !user.Enabled || user.Expire != 0 && user.Expire < now.Unix():
		return nil, fmt.Errorf("%w: user '%s' is disabled", ErrAuthentication, name)
	default:
		return user, nil
	}
}

func hashPassword(name, password string) (string, error) {
	key, err := pbkdf2.Key(sha256.New, password, []byte(name), passwordRounds, sha256.Size)
	if err != nil {
		return "", fmt.Errorf("hash the password of %s: %w", name, err)
	}

	return hex.EncodeToString(key), nil
}
