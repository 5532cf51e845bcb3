"""Documents read, cut, validated and embedded by workers, and what builds compute, for one loader to commit.

``stages`` are pure classes over Arrow tables, with errors as rows; ``shards`` are the Parquet files that they leave,
each named by its content; ``slot_pool``, ``ray_slots`` and ``runners`` run the same stages in this process, in
processes of this machine, in a Ray cluster, or by a runner of one's own; ``shard_source`` is what the loader reads:
documents in the order in which they were read, each with its validated graph. ``stage_runs`` has the stages of a build
done, and ``port_stages`` puts workers behind a model and an embedder. Needs pyarrow:
``pip install 'kgrag[workers]'``; Ray: ``'kgrag[ray]'``.
"""
