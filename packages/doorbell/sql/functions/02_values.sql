-- Ids, limits and other small things that the functions below share. Called by nobody else.

-- UUID v7, whose order is the order of creation. Built in from PostgreSQL 18 on.
do $$
begin
  if current_setting('server_version_num')::int >= 180000 then
    create or replace function doorbell.new_id() returns uuid
    language sql as 'select uuidv7()';
  else
    create or replace function doorbell.new_id() returns uuid
    language sql as $f$
      select encode(set_byte(set_byte(b.bytes, 6, get_byte(b.bytes, 6) & 15 | 112), 8, get_byte(b.bytes, 8) & 63 | 128), 'hex')::uuid
        from (select overlay(uuid_send(gen_random_uuid())
                             placing substring(int8send((extract(epoch from clock_timestamp()) * 1000)::bigint) from 3)
                             from 1 for 6) as bytes offset 0) b
    $f$;
  end if;
end $$;

-- An attempt that is not the job's fault is given back by raising max_attempts, up to here.
create or replace function doorbell.max_attempts_cap() returns int
language sql immutable as 'select 10000';

create or replace function doorbell.setting(name text) returns jsonb
language sql stable as
  'select s.value from doorbell.settings s where s.name = setting.name';

-- Refuses a value above the limit, measured as compact JSON. The exact measure is taken only where it can matter:
-- the text form of jsonb is at least as long as the compact one.
create or replace function doorbell.check_size(value jsonb, what text) returns void
language plpgsql as $$
declare
  bytes int := octet_length(value::text);
  most  int;
begin
  if bytes > 8192 then
    most := doorbell.setting('max_value_bytes');
    if bytes > most then
      bytes := octet_length(regexp_replace(value::text, '("(?:[^"\\]|\\.)*")|\s', '\1', 'g'));
      if bytes > most then
        raise exception 'doorbell: % has % bytes as JSON; at most % are allowed (put it into the object store)', what, bytes, most
          using errcode = '54000';
      end if;
    end if;
  end if;
end $$;

-- Refuses a kind, priority or number of attempts that is none. `what` says which job, for the message.
create or replace function doorbell.check_job(kind text, priority int, max_attempts int) returns void
language plpgsql as $$
begin
  if kind is null or kind = '' or octet_length(kind) > 200 then
    raise exception 'doorbell: a kind has 1 to 200 bytes' using errcode = '22023';
  elsif priority not between -8 and 8 then
    raise exception 'doorbell: the priority of a job of kind "%" is %; it must be from -8 to 8', kind, priority using errcode = '22023';
  elsif max_attempts not between 1 and doorbell.max_attempts_cap() then
    raise exception 'doorbell: max_attempts of a job of kind "%" is %; it must be from 1 to %',
      kind, max_attempts, doorbell.max_attempts_cap() using errcode = '22023';
  end if;
end $$;
