// What a type says for or against, as somebody says; none: by its name.
MATCH (t:RelationType {type_id: $type_id})
SET t.stance = $stance
RETURN t.type_id AS type_id
