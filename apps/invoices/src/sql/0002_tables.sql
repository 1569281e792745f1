-- What the accounts own. Run as invoices_owner.
--
-- Every table has an account_id and FORCEs row-level security on it, as Doorbell's own tables do with tenant_id: the
-- account is the tenant. The setting is the application's own, invoices.account_id; Doorbell is told its name and clamps
-- both together. Unset and empty both match no row.

create function invoices.force_account(name text) returns void
language plpgsql as $$
begin
  execute format('alter table invoices.%I enable row level security, force row level security', name);
  execute format($p$create policy one_account on invoices.%I
    using      (account_id = nullif(current_setting('invoices.account_id', true), ''))
    with check (account_id = nullif(current_setting('invoices.account_id', true), ''))$p$, name);
end $$;

create table invoices.accounts (
  account_id     text collate "C" primary key check (account_id ~ '^[a-z0-9][a-z0-9-]{0,39}$'),
  name           text not null,
  contact_email  text not null,           -- where reminders go
  webhook_url    text,                    -- null: nobody wants to be told
  webhook_secret text,                    -- whsec_…; null: unsigned
  created_at     timestamptz not null default now()
);
select invoices.force_account('accounts');

-- Tokens are random, so a plain hash is enough to keep them out of dumps.
create table invoices.tokens (
  account_id   text collate "C" not null references invoices.accounts,
  token_sha256 bytea not null check (octet_length(token_sha256) = 32),
  created_at   timestamptz not null default now(),
  primary key (account_id, token_sha256)
);
select invoices.force_account('tokens');

-- What was uploaded, and what became of it. The bytes are in the object store, under their hash.
create table invoices.documents (
  account_id  text collate "C" not null references invoices.accounts,
  document_id uuid not null,              -- v7: in the order of arrival
  sha256      text collate "C" not null check (sha256 ~ '^[0-9a-f]{64}$'),
  size_bytes  int not null check (size_bytes > 0),
  file_name   text,                       -- as the sender calls it: shown, never used to decide anything
  job_id      uuid not null,              -- that reads it; enqueued in the transaction that inserts the row
  received_at timestamptz not null default now(),
  state       text collate "C" not null default 'received' check (state in ('received', 'accepted', 'needs_review', 'rejected')),
  kind        text collate "C",           -- by its bytes: pdf, xml, email, …
  method      text collate "C",           -- how it was read
  reasons     jsonb not null default '[]',  -- [{code, message}]; why it is not accepted
  warnings    jsonb not null default '[]',
  decided_at  timestamptz,
  primary key (account_id, document_id),
  unique (account_id, sha256)             -- the same bytes are the same document
);
select invoices.force_account('documents');

-- What was read from a document, also from one that needs review.
create table invoices.extracted_invoices (
  account_id        text collate "C" not null,
  document_id       uuid not null,
  number            text,
  seller            text,
  buyer             text,
  issued_on         date,
  due_on            date,
  currency          text,
  total             numeric,
  net               numeric,
  vat               numeric,
  due               numeric,
  invoice           jsonb not null,       -- all of it, with where each field stands in the document
  extractor_version text not null,
  extracted_at      timestamptz not null default now(),
  primary key (account_id, document_id),
  foreign key (account_id, document_id) references invoices.documents
);
select invoices.force_account('extracted_invoices');

-- Which document has an invoice number of a seller. The primary key decides between two that are read at the same time.
create table invoices.invoice_numbers (
  account_id  text collate "C" not null,
  seller_key  text collate "C" not null,  -- folded; empty where no seller could be read
  number      text collate "C" not null,
  document_id uuid not null,
  primary key (account_id, seller_key, number),
  foreign key (account_id, document_id) references invoices.documents
);
create index invoice_numbers_document on invoices.invoice_numbers (account_id, document_id);
select invoices.force_account('invoice_numbers');

grant usage on schema invoices to invoices_app;
grant select on invoices.accounts, invoices.tokens to invoices_app;
grant select, insert, update on invoices.documents to invoices_app;
grant select, insert, update, delete on invoices.extracted_invoices to invoices_app;
grant select, insert, delete on invoices.invoice_numbers to invoices_app;
