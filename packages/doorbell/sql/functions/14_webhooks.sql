-- Endpoints of webhooks: to whom a tenant's events are sent, and with which secrets. One tenant at a time. For doorbell_web
-- and doorbell_worker; what opens or tells deliveries is the worker's alone. Secrets come and go sealed: the keys are with
-- the processes (src/effects/webhooks/secrets.ts), never here.

-- Adds an endpoint with its first secret. The id is the caller's, because the secret is sealed to it.
--   added    exists (this id is taken)    too_many (the tenant has 100; adding at the same time may pass that by a few)
create or replace function doorbell.add_webhook(tenant text, id uuid, url text, events text[], sealed bytea) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  answer text := 'too_many';
begin
  perform doorbell.clamp(tenant, caller);
  if (select count(*) from doorbell.webhook_endpoints w where w.tenant_id = tenant) < 100 then
    insert into doorbell.webhook_endpoints (tenant_id, id, url, events)
    values (tenant, add_webhook.id, add_webhook.url, add_webhook.events) on conflict do nothing;
    answer := case when found then 'added' else 'exists' end;
    if answer = 'added' then
      insert into doorbell.webhook_secrets (tenant_id, endpoint_id, n, sealed) values (tenant, add_webhook.id, 1, add_webhook.sealed);
    end if;
  end if;
  perform doorbell.unclamp(caller);
  return answer;
end $$;

-- Removes an endpoint and its secrets. What was delivered to it stays with its jobs. Whether there was one.
create or replace function doorbell.remove_webhook(tenant text, id uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  gone   boolean;
begin
  perform doorbell.clamp(tenant, caller);
  -- The endpoint first: a rotation waits for its row, and then finds none to give a secret to.
  delete from doorbell.webhook_endpoints w where w.tenant_id = tenant and w.id = remove_webhook.id;
  gone := found;
  delete from doorbell.webhook_secrets s where s.tenant_id = tenant and s.endpoint_id = remove_webhook.id;
  perform doorbell.unclamp(caller);
  return gone;
end $$;

-- Gives an endpoint a new secret. The one before it stays valid for overlap_ms; one before that ends now, so that there
-- are two at most. Whether there is such an endpoint.
create or replace function doorbell.rotate_webhook(tenant text, id uuid, sealed bytea, overlap_ms float8) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  there  boolean;
begin
  perform doorbell.clamp(tenant, caller);
  if overlap_ms is null or overlap_ms not between 0 and 2592000000 then
    raise exception 'doorbell: the overlap of two secrets is from 0 to 30 days' using errcode = '22023';
  end if;
  update doorbell.webhook_endpoints w set updated_at = now() where w.tenant_id = tenant and w.id = rotate_webhook.id;
  there := found;
  if there then
    delete from doorbell.webhook_secrets s
     where s.tenant_id = tenant and s.endpoint_id = rotate_webhook.id and s.expires_at is not null;
    update doorbell.webhook_secrets s set expires_at = now() + overlap_ms * interval '1 ms'
     where s.tenant_id = tenant and s.endpoint_id = rotate_webhook.id;
    insert into doorbell.webhook_secrets (tenant_id, endpoint_id, n, sealed)
    select tenant, rotate_webhook.id, coalesce(max(s.n), 0) + 1, rotate_webhook.sealed
      from doorbell.webhook_secrets s where s.tenant_id = tenant and s.endpoint_id = rotate_webhook.id;
  end if;
  perform doorbell.unclamp(caller);
  return there;
end $$;

-- Switches an endpoint off, with a reason, or on again.
--   changed    unchanged (it was so already; the first reason stays)    not_found
create or replace function doorbell.set_webhook_state(tenant text, id uuid, state text, reason text default null) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  before text;
  answer text;
begin
  perform doorbell.clamp(tenant, caller);
  if set_webhook_state.state = 'disabled' and coalesce(reason, '') = '' then
    raise exception 'doorbell: disabling an endpoint needs a reason' using errcode = '22023';
  end if;
  select w.state into before from doorbell.webhook_endpoints w
   where w.tenant_id = tenant and w.id = set_webhook_state.id for update;
  answer := case when before is null then 'not_found' when before = set_webhook_state.state then 'unchanged' else 'changed' end;
  if answer = 'changed' then
    update doorbell.webhook_endpoints w
       set state = set_webhook_state.state, updated_at = now(),
           disabled_reason = case set_webhook_state.state when 'disabled' then reason end,
           disabled_at     = case set_webhook_state.state when 'disabled' then now() end
     where w.tenant_id = tenant and w.id = set_webhook_state.id;
  end if;
  perform doorbell.unclamp(caller);
  return answer;
end $$;

-- The active endpoints that want this event, in order of their ids. For doorbell_worker.
create or replace function doorbell.webhooks_for(tenant text, event text) returns uuid[]
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  ids    uuid[];
begin
  perform doorbell.clamp(tenant, caller);
  ids := array(select w.id from doorbell.webhook_endpoints w
                where w.tenant_id = tenant and w.state = 'active' and w.events && array['*', webhooks_for.event] order by w.id);
  perform doorbell.unclamp(caller);
  return ids;
end $$;

-- What it takes to send to an endpoint: no row if it was removed. Its valid secrets, the newest first. For doorbell_worker.
create or replace function doorbell.webhook_target(tenant text, id uuid)
returns table (url text, state text, disabled_reason text, secrets bytea[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.clamp(tenant, caller);
  return query
  select w.url, w.state, w.disabled_reason,
         array(select s.sealed from doorbell.webhook_secrets s
                where s.tenant_id = tenant and s.endpoint_id = w.id and (s.expires_at is null or s.expires_at > now())
                order by s.n desc)
    from doorbell.webhook_endpoints w where w.tenant_id = tenant and w.id = webhook_target.id;
  perform doorbell.unclamp(caller);
end $$;

-- Tells what became of one attempt at an endpoint. Not fenced: what has happened has happened. For doorbell_worker.
create or replace function doorbell.tell_delivery(
  tenant text, job uuid, key text, attempt int, endpoint uuid, outcome text, status int, took_ms int, reason text)
returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
begin
  perform doorbell.clamp(tenant, caller);
  insert into doorbell.webhook_deliveries (tenant_id, job_id, id, endpoint_id, key, attempt, outcome, status, took_ms, reason)
  values (tenant, job, doorbell.new_id(), endpoint, tell_delivery.key, tell_delivery.attempt, tell_delivery.outcome,
          tell_delivery.status, tell_delivery.took_ms, tell_delivery.reason);
  perform doorbell.unclamp(caller);
end $$;

-- Whether any tenant has an endpoint: for the doctor, who asks whether there are secrets to open, and is told no more.
create or replace function doorbell.has_webhooks() returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  caller constant text := current_setting('doorbell.tenant_id', true);
  there  boolean;
begin
  perform set_config('doorbell.tenant_id', '*', true);
  there := exists (select from doorbell.webhook_endpoints);
  perform doorbell.unclamp(caller);
  return there;
end $$;
