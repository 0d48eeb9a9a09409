-- The pool wing. The owner is part of every key; rows that a process makes carry
-- its node and epoch. Times are Unix milliseconds, 0 for "not yet". Digests are
-- their text form, ids their text, secrets only as SHA-256.

-- One row for each process that had the store open. Its chain numbers the rows of
-- its audit trail: entry = chain * 2^40 + seq. Restored_at is set where the process
-- was the one that restored the store. Lived is for how many milliseconds it ran, by a
-- clock that nobody sets.
CREATE TABLE nodes (
  chain BIGINT NOT NULL,
  node TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  started_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  restored_at BIGINT NOT NULL,
  lived BIGINT NOT NULL,
  PRIMARY KEY (chain)
);

-- How far the audit trail was, and what time, when all processes together had lived so
-- long.
CREATE TABLE marks (
  lived BIGINT NOT NULL,
  entry BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (lived)
);
CREATE UNIQUE INDEX nodes_by_epoch ON nodes (node, epoch);

-- An owner's number is the upper part of the numbers of the owner's calls. Changes
-- grows with every change of who may do what.
CREATE TABLE owners (
  owner TEXT NOT NULL,
  number BIGINT NOT NULL,
  name TEXT NOT NULL,
  changes BIGINT NOT NULL,
  rights TEXT NOT NULL, -- their digest, as the trail has it
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner)
);
CREATE UNIQUE INDEX owners_by_name ON owners (name);
CREATE UNIQUE INDEX owners_by_number ON owners (number);

-- How far the owner's calls were looked at for results, and for rows, that have been
-- kept long enough.
CREATE TABLE sweeps (
  owner TEXT NOT NULL,
  results BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  PRIMARY KEY (owner)
);

CREATE TABLE clients (
  owner TEXT NOT NULL,
  client TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  connected BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner, client)
);
CREATE UNIQUE INDEX clients_by_name ON clients (owner, name) WHERE connected = 1;

CREATE TABLE tokens (
  hash BYTEA NOT NULL,
  owner TEXT NOT NULL,
  client TEXT NOT NULL,
  audience TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL,
  PRIMARY KEY (hash)
);
CREATE INDEX tokens_by_client ON tokens (owner, client);

CREATE TABLE adapters (
  owner TEXT NOT NULL,
  adapter TEXT NOT NULL,
  name TEXT NOT NULL,
  kind TEXT NOT NULL,
  configuration BYTEA NOT NULL,
  server TEXT NOT NULL,
  protocol TEXT NOT NULL,
  state TEXT NOT NULL,
  listed_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner, adapter)
);
CREATE UNIQUE INDEX adapters_by_name ON adapters (owner, name) WHERE state <> 'removed';

-- Steward's own credentials at the servers of entries, by the name of the entry: an
-- owner signs in before a server can be listed. Sealed for their issuer.
CREATE TABLE credentials (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  issuer TEXT NOT NULL,
  sealed BYTEA NOT NULL,
  changed_at BIGINT NOT NULL,
  PRIMARY KEY (owner, name)
);

-- A resource's number is a part of how its calls of the last minute are found.
CREATE TABLE resources (
  owner TEXT NOT NULL,
  resource TEXT NOT NULL,
  number BIGINT NOT NULL,
  kind TEXT NOT NULL,
  label TEXT NOT NULL,
  alias TEXT NOT NULL,
  adapter TEXT NOT NULL,
  storage TEXT NOT NULL,
  revision TEXT NOT NULL,
  state TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner, resource)
);
CREATE UNIQUE INDEX resources_by_number ON resources (number);
CREATE UNIQUE INDEX resources_by_alias ON resources (owner, alias) WHERE alias <> '';
CREATE INDEX resources_by_adapter ON resources (owner, adapter);

-- Which capsules the owner installed, in the words of what runs them. One is off after
-- a restore, until it is installed again.
CREATE TABLE capsules (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  installed BYTEA NOT NULL,
  off BIGINT NOT NULL,
  PRIMARY KEY (owner, name)
);

CREATE TABLE contracts (
  owner TEXT NOT NULL,
  digest TEXT NOT NULL,
  url TEXT NOT NULL,
  document BYTEA NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (owner, digest)
);

CREATE TABLE methods (
  owner TEXT NOT NULL,
  resource TEXT NOT NULL,
  contract TEXT NOT NULL,
  method TEXT NOT NULL,
  document_digest TEXT NOT NULL,
  method_digest TEXT NOT NULL,
  binding_digest TEXT NOT NULL,
  definition BYTEA NOT NULL,
  binding BYTEA NOT NULL,
  upstream BYTEA NOT NULL,
  review BYTEA NOT NULL,
  approved BYTEA NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (owner, resource, contract, method)
);

-- What the owner said to a proposal that is no yes, as long as it is the same one.
CREATE TABLE deferrals (
  owner TEXT NOT NULL,
  resource TEXT NOT NULL,
  contract TEXT NOT NULL,
  method TEXT NOT NULL,
  method_digest TEXT NOT NULL,
  binding_digest TEXT NOT NULL,
  answer TEXT NOT NULL,
  answered_at BIGINT NOT NULL,
  PRIMARY KEY (owner, resource, contract, method)
);

CREATE TABLE assignments (
  owner TEXT NOT NULL,
  assignment TEXT NOT NULL,
  client TEXT NOT NULL,
  resource TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  PRIMARY KEY (owner, assignment)
);
CREATE UNIQUE INDEX assignments_standing ON assignments (owner, client, resource) WHERE ended_at = 0;
CREATE INDEX assignments_of_resource ON assignments (owner, resource) WHERE ended_at = 0;

-- Ended_at is when a sweep first saw that no right rests on the record any more.
CREATE TABLE consents (
  owner TEXT NOT NULL,
  consent TEXT NOT NULL,
  client TEXT NOT NULL,
  resource TEXT NOT NULL,
  kind TEXT NOT NULL,
  digest TEXT NOT NULL,
  at BIGINT NOT NULL,
  ended_at BIGINT NOT NULL,
  shown BYTEA NOT NULL,
  PRIMARY KEY (owner, consent)
);
CREATE INDEX consents_standing ON consents (owner, consent, client, resource, kind, at) WHERE ended_at = 0;
CREATE INDEX consents_ended ON consents (ended_at) WHERE ended_at > 0;

-- A budget of zero bounds nothing. Money is in minor units of the currency.
CREATE TABLE grants (
  owner TEXT NOT NULL,
  client TEXT NOT NULL,
  resource TEXT NOT NULL,
  contract TEXT NOT NULL,
  method TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  method_digest TEXT NOT NULL,
  binding_digest TEXT NOT NULL,
  contract_digest TEXT NOT NULL,
  effects TEXT NOT NULL,
  confirm TEXT NOT NULL,
  per_minute BIGINT NOT NULL,
  at_once BIGINT NOT NULL,
  per_day BIGINT NOT NULL,
  price BIGINT NOT NULL,
  spend_per_day BIGINT NOT NULL,
  currency TEXT NOT NULL,
  state TEXT NOT NULL,
  assignment TEXT NOT NULL,
  consent TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  expires_at BIGINT NOT NULL,
  revoked_at BIGINT NOT NULL,
  PRIMARY KEY (owner, client, resource, contract, method)
);
CREATE UNIQUE INDEX grants_by_id ON grants (owner, grant_id);

-- What a grant with a budget of a day has used of it. Day is its first moment.
CREATE TABLE spending (
  owner TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  day BIGINT NOT NULL,
  calls BIGINT NOT NULL,
  PRIMARY KEY (owner, grant_id, day)
);
CREATE INDEX spending_by_day ON spending (day);

-- Args are sealed, and NULL once they were kept long enough.
CREATE TABLE confirmations (
  owner TEXT NOT NULL,
  confirmation TEXT NOT NULL,
  client TEXT NOT NULL,
  resource TEXT NOT NULL,
  contract TEXT NOT NULL,
  method TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  method_digest TEXT NOT NULL,
  binding_digest TEXT NOT NULL,
  input TEXT NOT NULL,
  state TEXT NOT NULL,
  asked_at BIGINT NOT NULL,
  decided_at BIGINT NOT NULL,
  used_by TEXT NOT NULL,
  args BYTEA,
  PRIMARY KEY (owner, confirmation)
);
CREATE INDEX confirmations_by_input ON confirmations (owner, client, input) WHERE state IN ('open', 'approved', 'denied');
CREATE INDEX confirmations_used ON confirmations (owner, client, used_by) WHERE state = 'used';
CREATE INDEX confirmations_open ON confirmations (owner, asked_at) WHERE state = 'open';
CREATE INDEX confirmations_newest ON confirmations (owner, asked_at, confirmation);
CREATE INDEX confirmations_of_age ON confirmations (asked_at);
CREATE INDEX confirmations_shown ON confirmations (asked_at) WHERE args IS NOT NULL;

-- A call's number orders the calls of an owner: number = owner's number * 2^40 + n.
-- Told is the entry of the audit trail that has the row's outcome. Admitted is the
-- resource's number * 2^44 + reserved_at, 0 for a call of which no minute is counted.
-- Result is sealed; removed is the digest of one that is no longer kept. Args are what
-- was sent, sealed, of a call without an outcome or in doubt; NULL of every other.
CREATE TABLE invocations (
  number BIGINT NOT NULL,
  owner TEXT NOT NULL,
  client TEXT NOT NULL,
  tx TEXT NOT NULL,
  invocation TEXT NOT NULL,
  resource TEXT NOT NULL,
  contract TEXT NOT NULL,
  method TEXT NOT NULL,
  request TEXT NOT NULL,
  input TEXT NOT NULL,
  grant_id TEXT NOT NULL,
  revision TEXT NOT NULL,
  classes TEXT NOT NULL,
  state TEXT NOT NULL,
  node TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  attempt BIGINT NOT NULL,
  reserved_at BIGINT NOT NULL,
  dispatched_at BIGINT NOT NULL,
  deadline_at BIGINT NOT NULL,
  settled_at BIGINT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  reason TEXT NOT NULL,
  effects TEXT NOT NULL,
  result BYTEA,
  removed TEXT NOT NULL,
  version TEXT NOT NULL,
  detail TEXT NOT NULL,
  reconciled_by TEXT NOT NULL,
  reconciled_at BIGINT NOT NULL,
  told BIGINT NOT NULL,
  admitted BIGINT NOT NULL,
  args BYTEA,
  PRIMARY KEY (number)
);
CREATE UNIQUE INDEX invocations_by_tx ON invocations (owner, client, tx);
CREATE UNIQUE INDEX invocations_by_id ON invocations (owner, invocation);
CREATE INDEX invocations_open ON invocations (owner, deadline_at) WHERE state IN ('reserved', 'dispatching');
CREATE INDEX invocations_admitted ON invocations (admitted) WHERE admitted > 0;
CREATE INDEX invocations_in_doubt ON invocations (owner, client, input) WHERE state = 'indeterminate';

CREATE INDEX invocations_moved ON invocations (told) WHERE (reconciled_at > 0 OR attempt > 1);

CREATE TABLE audit (
  entry BIGINT NOT NULL,
  node TEXT NOT NULL,
  epoch BIGINT NOT NULL,
  seq BIGINT NOT NULL,
  at BIGINT NOT NULL,
  owner TEXT NOT NULL,
  client TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  count BIGINT NOT NULL,
  prev TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (entry)
);

CREATE INDEX audit_denied ON audit (owner, entry) WHERE kind = 'denied';
CREATE INDEX audit_read ON audit (owner, entry) WHERE kind = 'read';
CREATE INDEX audit_alarm ON audit (owner, subject, entry) WHERE kind = 'alarm';
CREATE INDEX audit_swept ON audit (subject, entry) WHERE kind = 'swept';
CREATE INDEX audit_reconciled ON audit (owner, subject, entry) WHERE kind = 'reconciled';

-- Keys and values are bytes, so that keys have one order everywhere and a text may
-- hold every character that JSON can.
CREATE TABLE items (
  owner TEXT NOT NULL,
  resource TEXT NOT NULL,
  key BYTEA NOT NULL,
  value BYTEA NOT NULL,
  version TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner, resource, key)
);

CREATE TABLE profiles (
  owner TEXT NOT NULL,
  name TEXT NOT NULL,
  locale TEXT NOT NULL,
  timezone TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (owner)
);
